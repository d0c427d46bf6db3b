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

/// Where documents end in the data, and how many a row may have.
struct DocumentEnds {
  /// The token that is the last one of each document.
  int64_t token = 0;
  int64_t most = 0;
};

/// Tokens `[batch, length]` of i32, and of each the one that comes next.
struct Batch {
  HostTensor ids, labels;
  /// `[batch, most + 1]` of i32, as cp.positions takes them; and no last token
  /// of a document has a label then. Without documents empty.
  HostTensor documents;
};

/// The tokens of a file in windows: in their order, or with a seed in another
/// one, drawn for each pass over the file. Behind the last comes the next pass.
class TokenData {
public:
  /// `vocabulary` 0: not known. Errors: a file that cannot be read; ids outside
  /// the vocabulary, with their place; fewer windows than a batch takes; a
  /// window of more documents than a row may have.
  static llvm::Expected<TokenData> read(const std::string &path, int64_t batch,
                                        int64_t length, int64_t vocabulary,
                                        std::optional<uint64_t> seed,
                                        std::optional<DocumentEnds> documents);
  /// The batch of this number, from 0.
  Batch at(int64_t number);
  int64_t tokensOfBatch() const { return batch * length; }

private:
  /// The window of a row, counted through all passes.
  int64_t windowAt(int64_t place);
  llvm::Error checkDocuments(const std::string &path) const;
  /// Where the documents of a window end, and in front of them 0.
  std::vector<int32_t> documentsOf(int64_t window) const;

  std::vector<int64_t> tokens;
  int64_t batch = 0, length = 0, windows = 0;
  std::optional<uint64_t> seed;
  std::optional<DocumentEnds> documents;
  /// The order of the windows in one pass.
  std::vector<int64_t> order;
  int64_t shuffledPass = -1;
};

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TOKENDATA_H
