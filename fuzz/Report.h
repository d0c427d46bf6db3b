//===- Report.h - How a fuzz target reports a finding -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FUZZ_REPORT_H
#define CP_FUZZ_REPORT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>

namespace cp::fuzz {

/// Ends the process; libFuzzer then keeps the input.
[[noreturn]] inline void finding(const llvm::Twine &what) {
  llvm::errs() << "finding: " << what << "\n";
  std::abort();
}

inline void require(bool holds, const llvm::Twine &what) {
  if (!holds)
    finding(what);
}

/// Whether a parser gave a value; one that refuses must say why.
template <typename T> bool accepted(llvm::Expected<T> &result) {
  if (result)
    return true;
  require(!llvm::toString(result.takeError()).empty(),
          "an input was refused without a reason");
  return false;
}

} // namespace cp::fuzz

#endif // CP_FUZZ_REPORT_H
