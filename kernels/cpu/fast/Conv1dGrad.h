//===- fast/Conv1dGrad.h - Fast adjoint of the convolution ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CONV1DGRAD_H
#define CP_KERNELS_CPU_FAST_CONV1DGRAD_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// A block of tokens at a time, and of these a block of channels: each token
/// adds its cotangent to those of the rows that it has read, of which the last
/// w are at hand. So that blocks do not wait for each other, each looks at the
/// w - 1 tokens behind it too; what is of the weights is summed block by block,
/// and then over blocks in their order.
template <typename Isa, typename T> class Conv1dGrad {
public:
  static const char *run(const Call &call) {
    Conv1dGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = ceilDiv(args.l, blockTokens);
    int64_t sums = (args.w + 1) * args.c;
    auto *partial = static_cast<Acc *>(
        scratch(Slot::Segments, carved<Acc>(args.b * blocks * sums)));
    if (!partial)
      return outOfMemory("conv1d_grad");
    if (args.l == 0)
      clearInitial(args);
    const char *message =
        share(args.b * blocks, 3 * args.b * args.l * args.c * args.w,
              [&](Items &items) -> const char * {
                Conv1dGrad conv(args);
                if (!conv.allocate())
                  return outOfMemory("conv1d_grad");
                for (int64_t i; items.take(i);)
                  conv.block(i / blocks, i % blocks * blockTokens,
                             partial + i * sums);
                return nullptr;
              });
    if (!message)
      addUp(args, partial, args.b * blocks);
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr int64_t blockTokens = 128;
  /// Of these, weights, sums and rows of a window of four share the first
  /// cache.
  static constexpr int64_t blockChannels = 512;

  explicit Conv1dGrad(const Conv1dGradArgs<T> &args)
      : args(args), w(args.w), ld(roundUp(args.c, V::lanes)) {}

  bool allocate() {
    void *memory = scratch(Slot::Kernel,
                           2 * carved<Acc>(w * ld) + carved<Acc>(ld) +
                               carved<T>((w + 2) * ld) + carved<const T *>(w));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(w * ld);
    cotangents = carver.take<Acc>(w * ld);
    bias = carver.take<Acc>(ld);
    copies = carver.take<T>((w + 2) * ld);
    window = carver.take<const T *>(w);
    zeros = copies + (w + 1) * ld;
    Pack<Isa, T>::transposed(
        {args.weight.data, args.weight.strides[0], args.weight.strides[1]},
        args.c, w, ld, weights, ld);
    for (int64_t c = 0; c < ld; ++c) {
      bias[c] = c < args.c && args.bias.data ? Acc(*args.bias.at(c)) : Acc(0);
      zeros[c] = T(0);
    }
    return true;
  }

  /// Its own rows of dx, those of dinitial where it is the first, and its part
  /// of dweight, [w][c], and dbias.
  void block(int64_t b, int64_t first, Acc *sums) {
    int64_t end = least(args.l, first + blockTokens);
    for (int64_t i = 0; i < (w + 1) * args.c; ++i)
      sums[i] = 0;
    for (int64_t c = 0; c < args.c; c += blockChannels)
      channels({b, first, end, c, least(args.c, c + blockChannels)}, sums);
  }

  struct Part {
    int64_t b, first, end, begin, last;
  };

  void channels(const Part &part, Acc *sums) {
    for (int64_t i = 0; i < w; ++i)
      for (int64_t c = part.begin; c < part.last; ++c)
        cotangents[i * ld + c] = 0;
    int64_t end = least(args.l, part.end + w - 1);
    for (int64_t t = part.first; t < end; ++t) {
      int64_t reach = reachOf(part.b, t);
      if (reach >= 0)
        token(part, t, reach, t < part.end ? sums : nullptr);
      finishRow(part, t - (w - 1));
    }
    for (int64_t t = end - (w - 1); t < end; ++t)
      finishRow(part, t);
  }

  /// How many rows before its own token t reads; -1 where there is none.
  int64_t reachOf(int64_t b, int64_t t) const {
    return args.places.data ? least(w - 1, *args.places.at(b, t)) : w - 1;
  }

  /// Where the cotangent of input row t is summed up.
  Acc *cotangentOf(int64_t t) const { return cotangents + (t + w) % w * ld; }

  void token(const Part &part, int64_t t, int64_t reach, Acc *sums) {
    for (int64_t back = 0; back <= reach; ++back)
      window[back] = rowAt(part.b, t - back);
    const T *dy = contiguous(args.dy.at(part.b, t), args.dy.strides[2], w);
    int64_t c = part.begin;
    for (; c + V::lanes <= part.last; c += V::lanes)
      vector(t, reach, c, dy, sums, V::lanes);
    if (c < part.last)
      vector(t, reach, c, dy, sums, part.last - c);
  }

  [[gnu::always_inline]] void vector(int64_t t, int64_t reach, int64_t c,
                                     const T *dy, Acc *sums, int64_t lanes) {
    auto load = [&](const auto *from) {
      return lanes == V::lanes ? V::load(from) : V::loadPart(from, lanes);
    };
    auto add = [&](Acc *to, Type value) {
      if (lanes == V::lanes)
        V::store(to, V::load(to) + value);
      else
        V::storePart(to, V::loadPart(to, lanes) + value, lanes);
    };
    Type ds = load(dy + c);
    if (args.silu) {
      Type sum = V::load(bias + c);
      for (int64_t back = reach; back >= 0; --back)
        sum +=
            V::load(weights + (w - 1 - back) * ld + c) * load(window[back] + c);
      ds *= M::siluSlope(sum);
    }
    for (int64_t back = 0; back <= reach; ++back)
      add(cotangentOf(t - back) + c,
          V::load(weights + (w - 1 - back) * ld + c) * ds);
    if (!sums)
      return;
    for (int64_t back = 0; back <= reach; ++back)
      add(sums + (w - 1 - back) * args.c + c, load(window[back] + c) * ds);
    add(sums + w * args.c + c, ds);
  }

  /// Input row t, where t > -w, as contiguous channels. Of rows that are not,
  /// the copies of those in the window stay.
  const T *rowAt(int64_t b, int64_t t) {
    if (t < 0 && !args.initial.data)
      return zeros;
    return t < 0 ? contiguous(args.initial.at(b, t + w - 1),
                              args.initial.strides[2], (t + w) % w)
                 : contiguous(args.x.at(b, t), args.x.strides[2], t % w);
  }
  const T *contiguous(const T *row, int64_t stride, int64_t slot) {
    if (stride == 1)
      return row;
    T *copy = copies + slot * ld;
    for (int64_t c = 0; c < args.c; ++c)
      copy[c] = row[c * stride];
    return copy;
  }

  /// Nobody adds to the cotangent of input row t any more. Those in front of
  /// the block are another's, but for the first.
  void finishRow(const Part &part, int64_t t) {
    Acc *from = cotangentOf(t);
    if (t >= part.first && t < part.end)
      storeRow(part, from, args.dx.at(part.b, t), args.dx.strides[2]);
    else if (t < 0 && part.first == 0 && t >= -(w - 1))
      storeRow(part, from, args.dinitial.at(part.b, t + w - 1),
               args.dinitial.strides[2]);
    for (int64_t c = part.begin; c < part.last; ++c)
      from[c] = 0;
  }
  void storeRow(const Part &part, const Acc *from, T *to,
                int64_t stride) const {
    if (stride == 1)
      for (int64_t c = part.begin; c < part.last; ++c)
        to[c] = T(from[c]);
    else
      for (int64_t c = part.begin; c < part.last; ++c)
        to[c * stride] = T(from[c]);
  }

  static void addUp(const Conv1dGradArgs<T> &args, const Acc *partial,
                    int64_t blocks) {
    int64_t each = (args.w + 1) * args.c;
    for (int64_t k = 0; k <= args.w; ++k)
      for (int64_t c = 0; c < args.c; ++c) {
        Acc sum = 0;
        for (int64_t i = 0; i < blocks; ++i)
          sum += partial[i * each + k * args.c + c];
        *(k < args.w ? args.dweight.at(c, k) : args.dbias.at(c)) = sum;
      }
  }

  static void clearInitial(const Conv1dGradArgs<T> &args) {
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t t = 0; t + 1 < args.w; ++t)
        for (int64_t c = 0; c < args.c; ++c)
          *args.dinitial.at(b, t, c) = T(0);
  }

  const Conv1dGradArgs<T> &args;
  int64_t w, ld;
  /// [w][ld]; cotangents of the last w input rows, row t at t mod w.
  Acc *weights, *cotangents, *bias;
  T *copies, *zeros;
  /// The input rows of a token, its own first.
  const T **window;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1DGRAD_H
