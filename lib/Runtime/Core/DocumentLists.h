//===- DocumentLists.h - The cu_seqlens of a call ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DOCUMENTLISTS_H
#define CP_LIB_RUNTIME_DOCUMENTLISTS_H

#include "Descriptor.h"

#include "cp/Layout/Documents.h"

namespace cp::runtime {

/// One row of a buffer `i32[b, n]`.
inline cp::Documents documentsOf(const Buffer &lists, int64_t row) {
  return {static_cast<const int32_t *>(lists.data) + row * lists.strides[0],
          lists.strides[1], lists.sizes[1]};
}

/// CPRT_INVALID_ARGUMENT unless each row has documents that follow each other
/// and are the whole of `tokens`.
Error checkDocuments(const Descriptor &call, const Buffer &lists,
                     int64_t tokens);

/// The first row in which two buffers of equal sizes differ; nothing where they
/// are the same.
std::optional<int64_t> otherDocuments(const Buffer &a, const Buffer &b);

/// Whether which rows a rank has in a call of document_positions is the same
/// whatever the documents: then a device can find their places.
bool hasFixedRows(cprt_context &context, const Descriptor &call);

/// Whether a call of document_positions is of rows that a rank has whole, as it
/// has nobody to share them with: then no other rank has a part in it.
bool arePlacesOfWhole(cprt_context &context, const Descriptor &call);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_DOCUMENTLISTS_H
