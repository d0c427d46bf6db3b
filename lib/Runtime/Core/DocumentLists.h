//===- DocumentLists.h - The cu_seqlens of a call ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DOCUMENTLISTS_H
#define CP_LIB_RUNTIME_DOCUMENTLISTS_H

#include "Descriptor.h"
#include "List.h"

#include "cp/Layout/Documents.h"

#include <array>

namespace cp::runtime {

/// One row of a buffer `i32[b, n]`.
inline cp::Documents documentsOf(const Buffer &lists, int64_t row) {
  return {static_cast<const int32_t *>(lists.data) + row * lists.strides[0],
          lists.strides[1], lists.sizes[1]};
}

/// One rank's `cu_seqlens`, `i32[b, n]`, where the host can read them: their
/// own memory, or a copy of what the call's device has.
class HostLists {
public:
  explicit HostLists(const Buffer &lists) : view(lists) {}
  HostLists(const HostLists &) = delete;
  HostLists &operator=(const HostLists &) = delete;

  /// To be called first, of lists that have been checked for their type. The
  /// host waits for the device.
  Error bring(cprt_context &context, const Descriptor &call);
  const Buffer &buffer() const { return view; }

private:
  Buffer view;
  List<int32_t> copy;
  std::array<int64_t, 2> strides;
};

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
