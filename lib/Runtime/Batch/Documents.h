//===- Documents.h - Where the tokens of rows are ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_DOCUMENTS_H
#define CP_LIB_RUNTIME_BATCH_DOCUMENTS_H

#include "Fields.h"

namespace cp::batch {

/// A document of a caller's row: `slots` places from `begin` on, of which the
/// first `tokens` hold tokens and the others padding.
struct Document {
  int64_t begin, tokens, slots;
};

/// The documents of the caller's rows.
struct Documents {
  std::vector<std::vector<Document>> rows;
  /// seq_lens was there; otherwise each row is one document of all its places.
  bool areGiven = false;
  /// seq_lens_padded was there: their padding is where the caller wants it.
  bool slotsAreGiven = false;
};

/// Errors batch_c4 and batch_c5.
Error readDocuments(const Fields &fields, const Options &options,
                    Documents &documents);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_DOCUMENTS_H
