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

#include <string>
#include <vector>

namespace cp {

/// Tokens `[batch, length]` of i32, and of each the one that comes next.
struct Batch {
  HostTensor ids, labels;
};

/// The tokens of a file, in windows that follow each other; behind the last one
/// comes the first again.
class TokenData {
public:
  /// `vocabulary` 0: not known. Errors: a file that cannot be read; ids outside
  /// the vocabulary, with their place; fewer windows than a batch takes.
  static llvm::Expected<TokenData> read(const std::string &path, int64_t batch,
                                        int64_t length, int64_t vocabulary);
  /// The batch of a step, counted from 0.
  Batch at(int64_t step) const;
  int64_t tokensOfBatch() const { return batch * length; }

private:
  std::vector<int64_t> tokens;
  int64_t batch = 0, length = 0, windows = 0;
};

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TOKENDATA_H
