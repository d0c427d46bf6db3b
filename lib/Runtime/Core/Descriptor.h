//===- Descriptor.h - One call, decoded and checked -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DESCRIPTOR_H
#define CP_LIB_RUNTIME_DESCRIPTOR_H

#include "Kernels.h"
#include "List.h"
#include "Status.h"

#include <vector>

namespace cp::runtime {

using kernels::Buffer;
using kernels::DType;

/// More than any compiled program needs; a count above is a broken table.
inline constexpr int64_t maxBuffers = 65536;
inline constexpr int64_t maxRank = 16;
inline constexpr int64_t maxAttrWords = 4096;

size_t sizeOf(DType dtype);
/// Elements of a decoded buffer, and their bytes: both fit, decode saw to it.
int64_t numElements(const Buffer &buffer);
int64_t numBytes(const Buffer &buffer);
/// "f32[2, 4]"
std::string typeText(const Buffer &buffer);

/// "halo (call 3)"
std::string title(const char *op, int64_t id);

/// A view of a descriptor table (see cprt.h) and its buffers; owns neither.
class Descriptor {
public:
  /// Reads and checks the table: counts, types, sizes, strides, that every byte
  /// offset fits 63 bits, that outputs do not overlap themselves, and that no
  /// buffer with elements is null. CPRT_INVALID_ARGUMENT otherwise. What an
  /// operation wants of them is left to checkSignature.
  Error decode(const char *op, const int64_t *words, void *const *data);

  const char *op() const { return name; }
  /// What decode was given.
  const int64_t *table() const { return desc; }
  int64_t id() const { return callId; }
  size_t numIns() const { return numInputs; }
  size_t numOuts() const { return buffers.size() - numInputs; }
  const Buffer &in(size_t i) const { return buffers[i]; }
  const Buffer &out(size_t i) const { return buffers[numInputs + i]; }
  const Buffer *allBuffers() const { return buffers.data(); }
  /// Lets a buffer, among all, be elsewhere, and lie there otherwise.
  void place(size_t buffer, void *data, const int64_t *strides) {
    buffers[buffer].data = data;
    buffers[buffer].strides = strides;
  }
  const int64_t *attrs() const { return attrWords; }
  size_t numAttrs() const { return numAttrWords; }

  /// "input 1" or "output 0" for a position among all buffers.
  std::string label(size_t buffer) const;
  std::string title() const { return cp::runtime::title(name, callId); }
  /// The whole call for a message: title, types and attribute words.
  std::string describe() const;
  /// Whether two ranks mean the same call. Strides are each rank's own matter.
  bool sameAs(const Descriptor &other) const;

  /// CPRT_INVALID_ARGUMENT with the call's title in front of `text`.
  Failure invalid(const std::string &text) const;
  Failure unsupported(const std::string &text) const;

  Error expectCounts(size_t ins, size_t outs) const;
  /// Buffer `index` (among all) must have this type and these sizes.
  Error expectType(size_t index, DType dtype, const List<int64_t> &sizes) const;
  /// No output may start where an input does: peers still read the input.
  Error expectNotInPlace() const;

private:
  Error decodeHeader(const int64_t *desc);
  Error decodeBuffer(const int64_t *&words, void *data, size_t index);
  Error checkExtent(const Buffer &buffer, size_t index) const;
  Error checkMemory(const Buffer &buffer, size_t index) const;

  const char *name = "";
  const int64_t *desc = nullptr;
  int64_t callId = 0;
  size_t numInputs = 0;
  std::vector<Buffer> buffers;
  const int64_t *attrWords = nullptr;
  size_t numAttrWords = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_DESCRIPTOR_H
