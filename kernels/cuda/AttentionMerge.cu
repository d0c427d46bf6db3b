//===- AttentionMerge.cu - Two parts of attention as one ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"

namespace cp::kernels::cuda {

namespace {

/// A warp for each row of a head; see kernels/reference/AttentionMerge.cpp.
template <typename Acc> struct MergeParts {
  static constexpr int threads = 128, blocks = 1;
  using Shared = Nothing;

  AttentionMergeArgs<Acc> args;

  CP_DEVICE void operator()() const {
    int64_t row = int64_t(blockX()) * (threads / warpSize) + warp();
    int64_t h = blockY(), b = blockZ();
    if (row >= args.l)
      return;
    Acc first = *at(args.lses[0], b, h, row);
    Acc second = *at(args.lses[1], b, h, row);
    // The larger part first: the smaller one is the correction.
    bool isSecond = second > first;
    const View<const Acc, 4> &large = args.parts[isSecond ? 1 : 0],
                             &small = args.parts[isSecond ? 0 : 1];
    Acc most = isSecond ? second : first, least = isSecond ? first : second;
    bool isAlone = least == -Acc(__builtin_huge_val());
    Acc ratio = isAlone ? Acc(0) : exponential(least - most);
    Acc weight = ratio / (1 + ratio);
    for (int64_t i = lane(); i < args.dv; i += warpSize) {
      Acc value = *at(large, b, row, h, i);
      // Where nothing was added up there may be anything.
      if (!isAlone)
        value -= weight * (value - *at(small, b, row, h, i));
      store(b, row, h, i, value);
    }
    // lse may be one of the inputs, which every lane has read.
    warpBarrier();
    if (lane() == 0)
      *at(args.lse, b, h, row) = isAlone ? most : most + logOfOneMore(ratio);
  }

private:
  CP_DEVICE void store(int64_t b, int64_t row, int64_t h, int64_t i,
                       Acc value) const {
    if constexpr (sizeof(Acc) == sizeof(float))
      if (args.rounded.data) {
        *at(args.rounded, b, row, h, i) = narrowed<BFloat16>(value);
        return;
      }
    *at(args.o, b, row, h, i) = value;
  }
};

} // namespace

template <typename Acc>
const char *attentionMerge(const Call &call, void *stream) {
  MergeParts<Acc> kernel = {};
  const AttentionMergeArgs<Acc> &args = kernel.args;
  if (const char *message = decode(onDevice(call), kernel.args))
    return message;
  return launch(
      "attention_merge", kernel,
      {ceilDiv(args.l, MergeParts<Acc>::threads / warpSize), args.h, args.b},
      stream);
}

template const char *attentionMerge<float>(const Call &, void *);
template const char *attentionMerge<double>(const Call &, void *);

} // namespace cp::kernels::cuda
