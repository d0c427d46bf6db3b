//===- Rotary.cu - Rotation of queries and keys on a card -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"

#include <cmath>

namespace cp::kernels::cuda {

namespace {
/// A thread a pair of channels at one position, for all heads: angles, sines
/// and cosines are doubles, and worked out once. What is behind the pairs is
/// copied.
template <typename T> struct Rotate {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  RotaryArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t index = int64_t(blockX()) * threads + thread();
    int64_t pairs = args.dims / 2, each = pairs + args.p - args.dims;
    if (index >= args.b * args.l * each)
      return;
    int64_t i = index % each, row = index / each % args.l;
    int64_t b = index / each / args.l;
    if (i >= pairs)
      return copy(b, row, i + pairs);
    double frequency = pow(args.theta, -2.0 * double(i) / double(args.dims));
    double angle = double(*at(args.positions, b, row)) * frequency;
    auto cosine = Acc(cos(angle)), sine = Acc(sin(angle));
    for (int64_t h = 0; h < args.h; ++h) {
      Acc first = widened(*at(args.x, b, row, h, i));
      Acc second = widened(*at(args.x, b, row, h, i + pairs));
      *at(args.y, b, row, h, i) = narrowed<T>(first * cosine - second * sine);
      *at(args.y, b, row, h, i + pairs) =
          narrowed<T>(second * cosine + first * sine);
    }
  }

private:
  CP_DEVICE void copy(int64_t b, int64_t row, int64_t channel) const {
    for (int64_t h = 0; h < args.h; ++h)
      *at(args.y, b, row, h, channel) = *at(args.x, b, row, h, channel);
  }
};
} // namespace

template <typename T> const char *rotary(const Call &call, void *stream) {
  RotaryArgs<T> args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  using Kernel = Rotate<T>;
  int64_t each = args.dims / 2 + args.p - args.dims;
  return launch("rotary", Kernel{args},
                {ceilDiv(args.b * args.l * each, Kernel::threads)}, stream);
}

template const char *rotary<float>(const Call &, void *);
template const char *rotary<double>(const Call &, void *);
template const char *rotary<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
