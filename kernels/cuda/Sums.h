//===- Sums.h - Sums in an order that never changes -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SUMS_H
#define CP_KERNELS_CUDA_SUMS_H

#include "Launch.h"

namespace cp::kernels::cuda {

/// Sums over a block of `Threads` threads; it is what they have in shared
/// memory.
template <typename Acc, int Threads> struct BlockSum {
  static constexpr int warps = Threads / warpSize;
  Acc parts[warps];

  /// In every thread. The block passes a barrier before and behind it.
  CP_DEVICE Acc of(Acc value) {
    value = warpSum(value);
    if (lane() == 0)
      sharedStore(&parts[warp()], value);
    barrier();
    Acc sum = 0;
    CP_UNROLL
    for (int i = 0; i < warps; ++i)
      sum += sharedLoad(&parts[i]);
    barrier();
    return sum;
  }
};

/// Whether it is so for one of a block's `Threads` threads; likewise. Each is
/// asked once.
template <int Threads> struct BlockVote {
  static constexpr int warps = Threads / warpSize;
  int parts[warps];

  /// In every thread. The block passes a barrier in it.
  CP_DEVICE bool of(bool value) {
    int any = vote(value) != 0;
    if (lane() == 0)
      sharedStore(&parts[warp()], any);
    barrier();
    CP_UNROLL
    for (int i = 0; i < warps; ++i)
      any |= sharedLoad(&parts[i]);
    return any;
  }
};

/// The sums of `count` arrays that lie `stride` numbers apart, element by
/// element, into a matrix that is read by rows. Each warp of a block has a
/// share of the arrays, and a lane an element.
template <typename From, typename To> struct SumParts {
  static constexpr int threads = 256, blocks = 1, warps = threads / warpSize;
  struct Shared {
    From sums[warps][warpSize];
  };

  const From *parts;
  int64_t count, stride, rows, columns;
  View<To, 2> to;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * warpSize + lane();
    bool isThere = element < rows * columns;
    int64_t each = (count + warps - 1) / warps;
    int64_t end = least((warp() + 1) * each, count);
    From sum = 0;
    for (int64_t part = warp() * each; part < end && isThere; ++part)
      sum += parts[part * stride + element];
    auto &sums = shared<Shared>().sums;
    sharedStore(&sums[warp()][lane()], sum);
    barrier();
    if (warp() || !isThere)
      return;
    for (int i = 1; i < warps; ++i)
      sum += sharedLoad(&sums[i][lane()]);
    *at(to, element / columns, element % columns) = To(sum);
  }
};

/// `count` may be 0: the sums are zeros.
template <typename From, typename To>
const char *sumParts(const char *op, const From *parts, int64_t count,
                     int64_t stride, int64_t rows, int64_t columns,
                     const View<To, 2> &to, void *stream) {
  using Kernel = SumParts<From, To>;
  return launch(op, Kernel{parts, count, stride, rows, columns, to},
                {ceilDiv(rows * columns, warpSize)}, stream);
}
/// The same into a vector.
template <typename From, typename To>
const char *sumParts(const char *op, const From *parts, int64_t count,
                     int64_t stride, int64_t size, const View<To, 1> &to,
                     void *stream) {
  return sumParts(op, parts, count, stride, 1, size,
                  View<To, 2>{to.data, {0, to.strides[0]}}, stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SUMS_H
