//===- SsdGrad.h - The adjoint of the scan, tile by tile --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRAD_H
#define CP_KERNELS_CUDA_SSDGRAD_H

#include "SsdPanels.h"
#include "Vectors.h"

#include <algorithm>

namespace cp::kernels::cuda {

/// What the kernels of a call share. A segment is a tile; states are
/// [b, tiles, h, p, n] without gaps: `before` in front of each tile, and
/// `behind` the cotangent of that behind it, or, before these are folded, what
/// the tile's own tokens pass to its front.
template <typename T> struct SsdGradWork : SsdWork<T> {
  using Acc = AccumulatorOf<T>;
  View<const T, 4> dy;
  Acc *behind;
  View<T, 4> dx;
  View<T, 3> ddt;
  /// [b, l, h, n]: what each head gives the matrices of its group.
  Acc *dB, *dC;
  /// [b, tiles, h] and [b, tiles, h, p].
  double *dALog, *dBias;
  Acc *dD;
  /// Where a head is taken in several slices of channels, one launch after the
  /// other: [b, l, h], whose rounding is ddt. Slices add to it and to dB and
  /// dC; dALog and dBias are [b, tiles, slices, h].
  Acc *ddtSums;

  CP_DEVICE int64_t tileOf(int64_t b, int64_t tile, int64_t head) const {
    return (b * this->segments + tile) * this->h + head;
  }
};

/// From what each tile passes to its front the cotangent of the state behind
/// each, in place, from the last to the first.
template <typename T> struct SsdFoldBack {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdGradWork<T> work;
  /// Behind the last, which may be absent, and in front of the first.
  View<const Acc, 4> last;
  View<Acc, 4> first;
  /// What takes the place of work's `behind`, rounded; or null.
  BFloat16 *rounded;

  CP_DEVICE void operator()() const {
    const SsdSizes &s = work;
    int64_t element = int64_t(blockX()) * threads + thread();
    int64_t head = blockY(), b = blockZ();
    if (element >= s.p * s.n)
      return;
    int64_t channel = element / s.n, column = element % s.n;
    Acc cotangent = last.data ? *at(last, b, head, channel, column) : Acc(0);
    for (int64_t tile = work.segments - 1; tile >= 0; --tile) {
      int64_t of = work.tileOf(b, tile, head);
      int64_t at = of * s.p * s.n + element;
      Acc own = work.behind[at];
      if (rounded)
        rounded[at] = narrowed<BFloat16>(float(cotangent));
      else
        work.behind[at] = cotangent;
      cotangent = decayedBy(work.decays[of], cotangent, own);
    }
    *at(first, b, head, channel, column) = cotangent;
  }
};

/// Of a head's channels those that a block has.
struct ChannelSlice {
  static constexpr int64_t most = 64;
  int64_t number, count, first, width;

  static int64_t countOf(int64_t channels) { return ceilDiv(channels, most); }
  ChannelSlice(int64_t number, int64_t channels)
      : number(number), count(countOf(channels)), first(number * most),
        width(std::min(most, channels - first)) {}
  ChannelSlice() = default;
};

/// Steps' cotangents, which slices have added up, rounded once: a thread a
/// step.
template <typename T> struct RoundSteps {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdSizes sizes;
  const Acc *sums;
  View<T, 3> to;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    int64_t b = blockY();
    if (element < sizes.l * sizes.h)
      *at(to, b, element / sizes.h, element % sizes.h) =
          narrowed<T>(sums[b * sizes.l * sizes.h + element]);
  }
};

/// The sum over the heads of each group, of so many columns a thread, which
/// divide those that there are: 1, or as many as fill 16 bytes. The parts are
/// most of what the adjoint reads and writes.
template <typename T, int Width> struct SumHeads {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdSizes sizes;
  const Acc *parts;
  View<T, 4> to;

  CP_DEVICE void operator()() const {
    int64_t element = (int64_t(blockX()) * threads + thread()) * Width;
    int64_t n = element % sizes.n, t = element / sizes.n;
    int64_t g = blockY(), b = blockZ(), each = sizes.h / sizes.g;
    if (t >= sizes.l)
      return;
    Acc sums[Width] = {};
    const Acc *from =
        parts + ((b * sizes.l + t) * sizes.h + g * each) * sizes.n + n;
    CP_UNROLL_FOUR
    for (int64_t h = 0; h < each; ++h) {
      Acc terms[Width];
      load(from + h * sizes.n, terms);
      CP_UNROLL
      for (int i = 0; i < Width; ++i)
        sums[i] += terms[i];
    }
    CP_UNROLL
    for (int i = 0; i < Width; ++i)
      *at(to, b, t, g, n + i) = narrowed<T>(sums[i]);
  }

private:
  CP_DEVICE static void load(const Acc *from, Acc (&terms)[Width]) {
    if constexpr (Width == 1)
      terms[0] = *from;
    else
      widen(loadOnce(reinterpret_cast<const uint4 *>(from)), terms);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRAD_H
