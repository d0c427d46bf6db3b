//===- Attention.h - What both attentions share -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_ATTENTION_H
#define CP_LIB_RUNTIME_ATTENTION_H

#include "Positions.h"

namespace cp::runtime {

class DeviceQueue;

/// The attribute words that say what a query sees, and how it weighs it.
struct AttentionRule {
  bool causal = false;
  double scale = 0;
  int64_t window = 0;
};

/// Types and sizes of q, k, v, places, o and lse; see cprt.h.
Error checkAttentionBuffers(const Descriptor &call);
/// That as many query heads share each key head.
Error checkHeads(const Descriptor &call, int64_t queryHeads, int64_t keyHeads);
/// Input `i`, or null where the call leaves it out.
const Buffer *optionalInput(const Descriptor &call, size_t i);
/// The places of the queries; null where the call has none.
inline const Buffer *placesOf(const Descriptor &call) {
  return optionalInput(call, 3);
}
/// That the rule makes sense, and for these positions; and places, where they
/// are not null, for the queries.
Error checkAttentionRule(const cprt_context &context, const Descriptor &call,
                         const AttentionRule &rule, const Positions &queries,
                         const Positions &keys, const Buffer *places);

/// The type that lse, and parts of o, are kept in.
inline DType sumType(DType dtype) {
  return dtype == DType::BF16 ? DType::F32 : dtype;
}

/// A kernel for the blocks of a call. Where the rank has a device with such a
/// kernel, that one's, whether the blocks are there or in the host's memory.
struct BlockKernel {
  kernels::KernelFn onHost = nullptr;
  DeviceQueue *queue = nullptr;
  bool areBlocksOnDevice = false;
  const char *op = nullptr;
  DType dtype = DType::F32;

  /// The buffers have no gaps where the device takes them from the host.
  Error operator()(const Descriptor &call, const kernels::Call &decoded) const;
};
/// Neither where there is no such kernel.
BlockKernel blockKernel(cprt_context &context, const char *op, DType dtype);

/// The kernels of one call; found before ranks meet.
struct AttentionKernels {
  /// Parts are merged where they are.
  BlockKernel attention, merge;
};
Error findAttentionKernels(cprt_context &context, const Descriptor &call,
                           AttentionKernels &found);

/// The attribute words of a rule, as kernels take them.
List<int64_t> wordsOf(const AttentionRule &rule);
/// Adds an array of words, its length first.
void append(List<int64_t> &words, const std::vector<int64_t> &array);

/// Queries, and one block of the keys that they see.
struct AttentionBlock {
  const Buffer &q, &k, &v;
  /// Null for none.
  const Buffer *places;
  const Buffer &o, &lse;
  /// Where rows stand, as Positions::runs.
  const std::vector<int64_t> &queryRuns, &keyRuns;
};
/// Writes o and lse.
Error attendBlock(const AttentionKernels &kernels, const AttentionRule &rule,
                  const Descriptor &call, const AttentionBlock &block);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_ATTENTION_H
