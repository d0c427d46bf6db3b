//===- HeldCall.h - A device's call that is made later ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_HELDCALL_H
#define CP_UNITTESTS_RUNTIME_HELDCALL_H

#include "Kernels.h"

#include "cp/Runtime/cprt_device.h"

#include <deque>
#include <vector>

namespace cp::test {

/// A copy of all words of a call, for when its caller has gone on.
class HeldCall {
public:
  /// `place` gives, for each buffer, where its elements are for the kernel.
  template <typename PlaceFn>
  HeldCall(const cprt_device_call &call, PlaceFn place)
      : op(call.op), dtype(kernels::DType(call.dtype)),
        attributes(call.attributes, call.attributes + call.num_attributes),
        numIns(call.num_ins) {
    for (size_t i = 0; i < call.num_ins; ++i)
      add(call.ins[i], place(call.ins[i]));
    for (size_t i = 0; i < call.num_outs; ++i)
      add(call.outs[i], place(call.outs[i]));
  }
  HeldCall(const HeldCall &) = delete;
  HeldCall &operator=(const HeldCall &) = delete;

  kernels::Call get() const {
    return {buffers.data(),          numIns,
            buffers.data() + numIns, buffers.size() - numIns,
            attributes.data(),       attributes.size()};
  }

  const char *const op;
  const kernels::DType dtype;

private:
  void add(const cprt_buffer &buffer, void *data) {
    std::vector<int64_t> &each = words.emplace_back();
    // Those of an input that is left out are null.
    for (const int64_t *from : {buffer.sizes, buffer.strides})
      if (from)
        each.insert(each.end(), from, from + buffer.rank);
    buffers.push_back({data, kernels::DType(buffer.dtype), buffer.rank,
                       each.data(), each.data() + buffer.rank});
  }

  const std::vector<int64_t> attributes;
  const size_t numIns;
  std::deque<std::vector<int64_t>> words;
  std::vector<kernels::Buffer> buffers;
};

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_HELDCALL_H
