//===- MixerText.h - A mixer with layouts of its own ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_MIXERTEXT_H
#define CP_UNITTESTS_EXECUTION_MIXERTEXT_H

#include <cstdint>
#include <string>

namespace cp::test {

/// A mixer whose layouts are written out: the sequence cut over "ring" and
/// "more", heads over "u". Two batches of 96 tokens, 4 heads of 4 channels, 4
/// states, windows of 3 rows; rows and a state from before the first token are
/// given.
struct MixerText {
  /// The cuts of the sequence, in the words of a layout; empty: one rank's
  /// program, without layouts.
  std::string sequence;
  int64_t ring = 1, more = 1, heads = 1;
  std::string scan = "chain";
  int64_t groups = 1;
  std::string type = "f64";
  /// Whether it gives the state behind the last token, too.
  bool givesState = false;

  std::string text() const;

private:
  std::string types() const;
  std::string arguments() const;
  std::string matrices(bool repeats) const;
};

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_MIXERTEXT_H
