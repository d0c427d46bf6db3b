//===- TokenData.h - Tokens of a file, a batch at a time --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_TOKENDATA_H
#define CP_TOOLS_CPTRAIN_TOKENDATA_H

#include "cp/Execution/HostTensor.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Tokens `[batch, length]` of i32, and of each the one that comes next.
struct Batch {
  HostTensor ids, labels;
};

/// The tokens of a file in windows: in their order, or with a seed in another
/// one, drawn for each pass over the file. Behind the last comes the next pass.
class TokenData {
public:
  /// `vocabulary` 0: not known. Errors: a file that cannot be read; ids outside
  /// the vocabulary, with their place; fewer windows than a batch takes.
  static llvm::Expected<TokenData> read(const std::string &path, int64_t batch,
                                        int64_t length, int64_t vocabulary,
                                        std::optional<uint64_t> seed);
  /// The batch of this number, from 0.
  Batch at(int64_t number);
  int64_t tokensOfBatch() const { return batch * length; }

private:
  /// The window of a row, counted through all passes.
  int64_t windowAt(int64_t place);

  std::vector<int64_t> tokens;
  int64_t batch = 0, length = 0, windows = 0;
  std::optional<uint64_t> seed;
  /// The order of the windows in one pass.
  std::vector<int64_t> order;
  int64_t shuffledPass = -1;
};

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TOKENDATA_H
