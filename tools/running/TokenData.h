//===- TokenData.h - Tokens of a file, a batch at a time --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TOKENDATA_H
#define CP_TOOLS_RUNNING_TOKENDATA_H

#include "TrainingData.h"

#include <memory>

namespace cp {

/// The tokens of a file in windows. Behind the last comes the next pass.
class TokenData : public TrainingData {
public:
  /// `documentEnd` is the last token of each document, where a row may have
  /// several. Errors: a file that cannot be read; ids outside the vocabulary,
  /// with their place; fewer windows than a batch takes; a window of more
  /// documents than a row may have.
  static llvm::Expected<std::unique_ptr<TrainingData>>
  read(const std::string &path, const DataShape &shape, int64_t documentEnd);
  llvm::Expected<Batch> at(int64_t number) override;

private:
  TokenData(const DataShape &shape, std::vector<int64_t> tokens,
            int64_t windows, int64_t documentEnd);
  llvm::Error checkDocuments(const std::string &path) const;
  /// Where the documents of a window end, and in front of them 0.
  std::vector<int32_t> documentsOf(int64_t window) const;

  std::vector<int64_t> tokens;
  int64_t windows, documentEnd;
  PassOrder order;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_TOKENDATA_H
