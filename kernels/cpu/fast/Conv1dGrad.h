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
#include "fast/BlockSums.h"
#include "fast/Conv1dGradGroup.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// A block of tokens at a time, and of these a block of channels: each token
/// adds its cotangent to those of the rows that it has read, of which the last
/// w are at hand. So that blocks do not wait for each other, each looks at the
/// w - 1 tokens behind it too; what is of the weights is summed a few tokens at
/// a time, then over a block and then over all: rounding grows with how many
/// numbers stand in a row.
///
/// Tokens that read all of their window go by in groups, whose sums stay in
/// registers; every sum has the order of tokens, so either way has the same
/// bits.
template <typename Isa, typename T> class Conv1dGrad {
public:
  static const char *run(const Call &call) {
    Conv1dGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t ofRow = ceilDiv(args.l, blockTokens), blocks = args.b * ofRow;
    int64_t sums = (args.w + 1) * roundUp(args.c, V::lanes);
    auto *partial = static_cast<Acc *>(
        scratch(Slot::Segments, carved<Acc>((blocks ? blocks : 1) * sums)));
    if (!partial)
      return outOfMemory("conv1d_grad");
    if (args.l == 0)
      clearInitial(args);
    const char *message = share(
        blocks, 3 * args.b * args.l * args.c * args.w,
        [&](Items &items) -> const char * {
          Conv1dGrad conv(args);
          if (!conv.allocate())
            return outOfMemory("conv1d_grad");
          for (int64_t i; items.take(i);)
            conv.block(i / ofRow, i % ofRow * blockTokens, partial + i * sums);
          return nullptr;
        });
    if (!message)
      writeSums(args, sumOverBlocks(partial, blocks, sums));
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr int64_t blockTokens = 128, sumTokens = 32;
  /// Weights, sums and what waits of a window of four take a small part of the
  /// second cache; memory delivers long parts of rows faster than short ones
  /// that would share the first.
  static constexpr int64_t blockChannels = 8192 / sizeof(T);
  /// Tokens of a group.
  static constexpr int together = V::together;

  explicit Conv1dGrad(const Conv1dGradArgs<T> &args)
      : args(args), w(args.w), ld(roundUp(args.c, V::lanes)),
        numCopies(args.w - 1 + together) {}

  bool allocate() {
    void *memory = scratch(Slot::Kernel,
                           2 * carved<Acc>(w * ld) + carved<Acc>((w + 1) * ld) +
                               carved<Acc>(ld) + carved<T>(numCopies * ld) +
                               carved<T>(ld) + 2 * carved<T>(together * ld) +
                               carved<const T *>(w));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(w * ld);
    cotangents = carver.take<Acc>(w * ld);
    recent = carver.take<Acc>((w + 1) * ld);
    bias = carver.take<Acc>(ld);
    copies = carver.take<T>(numCopies * ld);
    zeros = carver.take<T>(ld);
    results = carver.take<T>(together * ld);
    dyCopies = carver.take<T>(together * ld);
    window = carver.take<const T *>(w);
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
  /// of dweight, [w][ld], and dbias.
  void block(int64_t b, int64_t first, Acc *sums) {
    int64_t end = least(args.l, first + blockTokens);
    for (int64_t i = 0; i < (w + 1) * ld; ++i)
      sums[i] = recent[i] = 0;
    for (int64_t c = 0; c < args.c; c += blockChannels)
      channels({b, first, end, c, least(args.c, c + blockChannels)}, sums);
    V::finishStreams();
  }

  struct Part {
    int64_t b, first, end, begin, last;
  };

  void channels(const Part &part, Acc *sums) {
    for (int64_t i = 0; i < w; ++i)
      clear(part, cotangents + i * ld);
    newestCopy = part.first - w;
    int64_t end = least(args.l, part.end + w - 1);
    for (int64_t t = part.first; t < end;) {
      if (isGroup(part, t)) {
        w == 4 ? group<4>(part, t) : group<3>(part, t);
        t += together;
      } else {
        token(part, t);
        finishRow(part, t - (w - 1));
        ++t;
      }
      if (t == part.end || (t < part.end && tokenOfSum(part, t) == 0))
        addRecent(part, sums);
    }
    for (int64_t t = end - (w - 1); t < end; ++t)
      finishRow(part, t);
  }

  /// Which one of those that are summed before they are added to the block's.
  static int64_t tokenOfSum(const Part &part, int64_t t) {
    return (t - part.first) % sumTokens;
  }
  void addRecent(const Part &part, Acc *sums) {
    for (int64_t i = 0; i <= w; ++i)
      for (int64_t c = i * ld + part.begin; c < i * ld + part.last; ++c) {
        sums[c] += recent[c];
        recent[c] = 0;
      }
  }

  /// Whether the tokens from t on go by together: each has sums in this block,
  /// the same ones, and reads all of its window.
  bool isGroup(const Part &part, int64_t t) const {
    if ((w != 4 && w != 3) || t + together > part.end ||
        tokenOfSum(part, t) + together > sumTokens)
      return false;
    for (int64_t i = 0; i < together && args.places.data; ++i)
      if (reachOf(part.b, t + i) < w - 1)
        return false;
    return true;
  }

  /// How many rows before its own token t reads; -1 where there is none.
  int64_t reachOf(int64_t b, int64_t t) const {
    return args.places.data ? least(w - 1, *args.places.at(b, t)) : w - 1;
  }

  /// Where the cotangent of input row t is summed up.
  Acc *cotangentOf(int64_t t) const { return cotangents + (t + w) % w * ld; }

  //===--- Tokens one by one ---------------------------------------------===//

  void token(const Part &part, int64_t t) {
    Acc *sums = t < part.end ? recent : nullptr;
    clear(part, cotangentOf(t));
    int64_t reach = reachOf(part.b, t);
    for (int64_t back = reach; back >= 0; --back)
      window[back] = rowAt(part, t - back);
    if (reach < 0)
      return;
    const T *dy = cotangentRow(part, t, 0);
    int64_t c = part.begin;
    for (; c + V::lanes <= part.last; c += V::lanes)
      vector(t, reach, c, dy, sums, V::lanes);
    if (c < part.last)
      vector(t, reach, c, dy, sums, part.last - c);
  }

  [[gnu::always_inline]] void vector(int64_t t, int64_t reach, int64_t c,
                                     const T *dy, Acc *sums, int64_t lanes) {
    auto load = [&](const T *from) {
      return lanes == V::lanes ? V::load(from) : V::loadPart(from, lanes);
    };
    auto add = [&](Acc *to, Type value) { V::store(to, V::load(to) + value); };
    Type ds = load(dy + c);
    if (args.silu) {
      Type slope[1] = {V::load(bias + c)}, silu[1];
      for (int64_t back = reach; back >= 0; --back)
        slope[0] +=
            V::load(weights + (w - 1 - back) * ld + c) * load(window[back] + c);
      M::siluSlope(slope, silu);
      ds *= slope[0];
    }
    for (int64_t back = 0; back <= reach; ++back)
      add(cotangentOf(t - back) + c,
          V::load(weights + (w - 1 - back) * ld + c) * ds);
    if (!sums)
      return;
    for (int64_t back = 0; back <= reach; ++back)
      add(sums + (w - 1 - back) * ld + c, load(window[back] + c) * ds);
    add(sums + w * ld + c, ds);
  }

  //===--- Tokens in groups ----------------------------------------------===//

  template <int Width> void group(const Part &part, int64_t t) {
    Conv1dGradGroup<Isa, T, Width> of;
    of.sums = recent;
    of.weights = weights;
    of.bias = bias;
    of.ld = ld;
    of.silu = args.silu;
    for (int i = 0; i < Width - 1 + together; ++i)
      of.rows[i] = rowAt(part, t - (Width - 1) + i);
    for (int i = 0; i < together; ++i) {
      of.dy[i] = cotangentRow(part, t + i, i);
      int64_t next = least(t + i + together, args.l - 1);
      of.nextRows[i] = args.x.at(part.b, next);
      of.nextDy[i] = args.dy.at(part.b, next);
      int64_t row = t + i - (Width - 1);
      of.to[i] =
          isDirect(part, row) ? args.dx.at(part.b, row) : results + i * ld;
    }
    for (int i = 0; i < Width - 1; ++i) {
      of.before[i] = cotangentOf(t - (Width - 1) + i);
      of.pending[i] = cotangentOf(t + together - (Width - 1) + i);
    }
    of.run(part.begin, part.last, isStreamed(of.to));
    for (int i = 0; i < together; ++i)
      if (int64_t row = t + i - (Width - 1); !isDirect(part, row))
        storeRow(part, row, results + i * ld);
  }

  /// Whether results go past the caches, which could not hold them anyway.
  bool isStreamed(T *const (&to)[together]) const {
    bool result =
        Isa::streams && args.l * args.c * int64_t(sizeof(T)) >= leastStreamed;
    for (const T *row : to)
      result = result && reinterpret_cast<size_t>(row) % 64 == 0;
    return result;
  }

  //===--- Rows ----------------------------------------------------------===//

  /// The part of input row t, where t > -w, as contiguous channels. Rows are
  /// asked for in their order, but for those of the last window: of rows that
  /// are not contiguous, the copies of these stay.
  const T *rowAt(const Part &part, int64_t t) {
    if (t < 0 && !args.initial.data)
      return zeros;
    const View<const T, 3> &from = t < 0 ? args.initial : args.x;
    const T *row = from.at(part.b, t < 0 ? t + w - 1 : t);
    if (from.strides[2] == 1)
      return row;
    T *copy = copies + (t + numCopies) % numCopies * ld;
    if (t > newestCopy)
      gather(part, row, from.strides[2], copy);
    newestCopy = t > newestCopy ? t : newestCopy;
    return copy;
  }
  const T *cotangentRow(const Part &part, int64_t t, int64_t slot) {
    const T *row = args.dy.at(part.b, t);
    if (args.dy.strides[2] == 1)
      return row;
    T *copy = dyCopies + slot * ld;
    gather(part, row, args.dy.strides[2], copy);
    return copy;
  }
  static void gather(const Part &part, const T *from, int64_t stride, T *to) {
    for (int64_t c = part.begin; c < part.last; ++c)
      to[c] = from[c * stride];
  }

  /// Whether the cotangent of input row t goes to dx as it is.
  bool isDirect(const Part &part, int64_t t) const {
    return t >= part.first && t < part.end && args.dx.strides[2] == 1;
  }

  /// Nobody adds to the cotangent of input row t any more. Those in front of
  /// the block are another's, but for the first.
  void finishRow(const Part &part, int64_t t) {
    storeRow(part, t, cotangentOf(t));
  }
  template <typename From>
  void storeRow(const Part &part, int64_t t, const From *from) const {
    if (t >= part.first && t < part.end)
      scatter(part, from, args.dx.at(part.b, t), args.dx.strides[2]);
    else if (t < 0 && part.first == 0 && t >= -(w - 1))
      scatter(part, from, args.dinitial.at(part.b, t + w - 1),
              args.dinitial.strides[2]);
  }
  template <typename From>
  static void scatter(const Part &part, const From *from, T *to,
                      int64_t stride) {
    if (stride == 1)
      for (int64_t c = part.begin; c < part.last; ++c)
        to[c] = T(from[c]);
    else
      for (int64_t c = part.begin; c < part.last; ++c)
        to[c * stride] = T(from[c]);
  }
  static void clear(const Part &part, Acc *row) {
    for (int64_t c = part.begin; c < part.last; ++c)
      row[c] = 0;
  }

  /// From sums, [w + 1][ld].
  static void writeSums(const Conv1dGradArgs<T> &args, const Acc *sums) {
    int64_t ld = roundUp(args.c, V::lanes);
    for (int64_t c = 0; c < args.c; ++c) {
      for (int64_t k = 0; k < args.w; ++k)
        *args.dweight.at(c, k) = sums[k * ld + c];
      *args.dbias.at(c) = sums[args.w * ld + c];
    }
  }

  static void clearInitial(const Conv1dGradArgs<T> &args) {
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t t = 0; t + 1 < args.w; ++t)
        for (int64_t c = 0; c < args.c; ++c)
          *args.dinitial.at(b, t, c) = T(0);
  }

  const Conv1dGradArgs<T> &args;
  int64_t w, ld, numCopies;
  /// [w][ld]; cotangents of the last w input rows, row t at t mod w.
  Acc *weights, *cotangents, *bias;
  /// Sums of the last tokens: [w][ld] of the weights, and a row of the bias.
  Acc *recent;
  T *copies, *zeros, *results, *dyCopies;
  /// The last input row that was copied.
  int64_t newestCopy;
  /// The input rows of a token, its own first.
  const T **window;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1DGRAD_H
