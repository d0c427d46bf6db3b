//===- Conv1dGrad.cu - The adjoint of the causal convolution --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conv1d.h"
#include "Conv1dGradVectors.h"
#include "CudaKernels.h"
#include "Sums.h"

namespace cp::kernels::cuda {

namespace {

/// What the kernels of a call share. `ds`, [b, l, c] without gaps, is the
/// cotangent of the sums, of which what has no token has none.
template <typename T> struct ConvGradWork {
  using Acc = AccumulatorOf<T>;
  Conv1dGradArgs<T> args;
  Acc *ds;

  CP_DEVICE Acc &dsAt(int64_t b, int64_t t, int64_t c) const {
    return ds[(b * args.l + t) * args.c + c];
  }
  /// How many rows in front of itself row t reads; -1 where there is no token.
  CP_DEVICE int64_t reachOf(int64_t b, int64_t t) const {
    return args.places.data ? least(*at(args.places, b, t), args.w - 1)
                            : args.w - 1;
  }
  /// Row t of the input, where t >= -(w - 1).
  CP_DEVICE Acc inputAt(int64_t b, int64_t t, int64_t c) const {
    if (t >= 0)
      return widened(*at(args.x, b, t, c));
    return args.initial.data
               ? Acc(widened(*at(args.initial, b, t + args.w - 1, c)))
               : Acc(0);
  }
  CP_DEVICE Acc weightAt(int64_t c, int64_t back) const {
    return widened(*at(args.weight, c, args.w - 1 - back));
  }
};

/// A thread an element.
template <typename T> struct CotangentOfSums {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  ConvGradWork<T> work;

  CP_DEVICE void operator()() const {
    const Conv1dGradArgs<T> &args = work.args;
    int64_t element = int64_t(blockX()) * threads + thread(), b = blockZ();
    if (element >= args.l * args.c)
      return;
    int64_t t = element / args.c, c = element % args.c;
    int64_t reach = work.reachOf(b, t);
    Acc ds = 0;
    if (reach >= 0) {
      ds = widened(*at(args.dy, b, t, c));
      if (args.silu)
        ds *= siluSlopeOf(sumAt(b, t, c, reach));
    }
    work.dsAt(b, t, c) = ds;
  }

private:
  CP_DEVICE Acc sumAt(int64_t b, int64_t t, int64_t c, int64_t reach) const {
    Acc sum =
        work.args.bias.data ? Acc(widened(*at(work.args.bias, c))) : Acc(0);
    for (int64_t back = reach; back >= 0; --back)
      sum += work.weightAt(c, back) * work.inputAt(b, t - back, c);
    return sum;
  }
};

/// A thread an element of the input, the rows in front of the first included.
template <typename T> struct CotangentOfInput {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  ConvGradWork<T> work;

  CP_DEVICE void operator()() const {
    const Conv1dGradArgs<T> &args = work.args;
    int64_t element = int64_t(blockX()) * threads + thread(), b = blockZ();
    int64_t before = args.w - 1;
    if (element >= (args.l + before) * args.c)
      return;
    int64_t t = element / args.c - before, c = element % args.c;
    Acc sum = 0;
    for (int64_t back = t < 0 ? -t : 0; back < args.w && t + back < args.l;
         ++back)
      // Of another sequence not even 0 times a NaN is added.
      if (work.reachOf(b, t + back) >= back)
        sum += work.weightAt(c, back) * work.dsAt(b, t + back, c);
    *(t < 0 ? at(args.dinitial, b, t + before, c) : at(args.dx, b, t, c)) =
        narrowed<T>(sum);
  }
};

/// A thread a channel and a row of the window, of some rows of the input: its
/// part of the weight's cotangent, [c, w], and behind these of the bias's, [c].
template <typename T> struct CotangentOfWeight {
  static constexpr int threads = 64, blocks = 1;
  static constexpr int64_t rows = 64;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  ConvGradWork<T> work;
  int64_t each;
  Acc *parts;

  CP_DEVICE void operator()() const {
    const Conv1dGradArgs<T> &args = work.args;
    int64_t c = int64_t(blockX()) * threads + thread(), part = blockY();
    int64_t back = blockZ() - 1;
    if (c >= args.c)
      return;
    int64_t b = part / each, first = part % each * rows;
    int64_t end = least(first + rows, args.l);
    Acc sum = 0;
    for (int64_t t = first; t < end; ++t) {
      int64_t reach = work.reachOf(b, t);
      if (reach < 0 || reach < back)
        continue;
      Acc ds = work.dsAt(b, t, c);
      sum += back < 0 ? ds : ds * work.inputAt(b, t - back, c);
    }
    Acc *to = parts + part * args.c * (args.w + 1);
    to[back < 0 ? args.c * args.w + c : c * args.w + args.w - 1 - back] = sum;
  }
};

constexpr const char *op = "conv1d_grad";

/// A part has the sums of both, so that each skips what is not its own.
template <typename T>
const char *sumWeights(const Conv1dGradArgs<T> &args,
                       const AccumulatorOf<T> *parts, int64_t count,
                       void *stream) {
  int64_t size = args.c * (args.w + 1);
  if (const char *message = sumParts(op, parts, count, size, args.c, args.w,
                                     args.dweight, stream))
    return message;
  return sumParts(op, parts + args.c * args.w, count, size, args.c, args.dbias,
                  stream);
}

template <typename T>
const char *runVectors(const Conv1dGradArgs<T> &args, void *stream) {
  using Kernel = Conv1dGradVectors<T>;
  Workspace workspace(stream);
  int64_t blocks = ceilDiv(args.l, Kernel::warps * Kernel::rows);
  int64_t count = args.b * blocks;
  auto *parts = static_cast<float *>(workspace.allocate(
      size_t(count * args.c * (args.w + 1)) * sizeof(float)));
  if (!parts)
    return outOfMemory(op);
  if (const char *message = launch(
          op, Kernel{args, parts},
          {ceilDiv(args.c, warpSize * Kernel::width), blocks, args.b}, stream))
    return message;
  return sumWeights(args, parts, count, stream);
}

} // namespace

template <typename T> const char *conv1dGrad(const Call &call, void *stream) {
  using Acc = AccumulatorOf<T>;
  using Weights = CotangentOfWeight<T>;
  ConvGradWork<T> work = {};
  Conv1dGradArgs<T> &args = work.args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  if constexpr (!std::is_same_v<T, double>)
    if (args.l && args.w == Conv1dGradVectors<T>::window && args.c % 4 == 0 &&
        isInQuads(args.x) && isInQuads(args.dy) && isInQuads(args.dx) &&
        isInQuads(args.dinitial) &&
        (!args.initial.data || isInQuads(args.initial)))
      return runVectors(args, stream);
  Workspace workspace(stream);
  work.ds = static_cast<Acc *>(
      workspace.allocate(size_t(args.b * args.l * args.c) * sizeof(Acc)));
  int64_t each = ceilDiv(args.l, Weights::rows), count = args.b * each;
  int64_t size = args.c * (args.w + 1);
  auto *parts = static_cast<Acc *>(
      workspace.allocate(size_t(count * size) * sizeof(Acc)));
  if (!work.ds || !parts)
    return outOfMemory(op);
  if (const char *message =
          launch(op, CotangentOfSums<T>{work},
                 {ceilDiv(args.l * args.c, 256), 1, args.b}, stream))
    return message;
  if (const char *message = launch(
          op, CotangentOfInput<T>{work},
          {ceilDiv((args.l + args.w - 1) * args.c, 256), 1, args.b}, stream))
    return message;
  if (const char *message = launch(
          op, Weights{work, each, parts},
          {ceilDiv(args.c, Weights::threads), count, args.w + 1}, stream))
    return message;
  return sumWeights(args, parts, count, stream);
}

template const char *conv1dGrad<float>(const Call &, void *);
template const char *conv1dGrad<double>(const Call &, void *);
template const char *conv1dGrad<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
