//===- fast/Conv1d.h - Fast causal convolution ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CONV1D_H
#define CP_KERNELS_CPU_FAST_CONV1D_H

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// A few tokens at a time, vectors over the channels: weights and window stay
/// in registers while the tokens go by, and each input is read once.
template <typename Isa, typename T> class Conv1d {
public:
  static const char *run(const Call &call) {
    Conv1dArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = (args.l + blockTokens - 1) / blockTokens;
    return share(args.b * blocks, args.b * args.l * args.c * args.w,
                 [&](Items &items) -> const char * {
                   Conv1d conv(args);
                   if (!conv.allocate())
                     return outOfMemory("conv1d");
                   for (int64_t i; items.take(i);) {
                     int64_t first = i % blocks * blockTokens;
                     conv.block(i / blocks, first,
                                least(args.l, first + blockTokens));
                   }
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using Type = typename V::Type;
  /// Far more than the window that two blocks both read.
  static constexpr int64_t blockTokens = 128;
  /// Tokens that go by together: as many streams as prefetchers follow.
  static constexpr int64_t together = 8;
  /// How far ahead inputs are fetched, along a row.
  static constexpr int64_t ahead = 1024 / sizeof(T);

  explicit Conv1d(const Conv1dArgs<T> &args)
      : args(args), ld(roundUp(args.c, V::lanes)) {}

  bool allocate() {
    int64_t w = args.w, rows = w + together;
    void *memory = scratch(
        Slot::Kernel, carved<Acc>(w * ld) + carved<T>(rows * ld) +
                          carved<Acc>(ld) + carved<T>(ld) +
                          carved<T>(together * ld) + carved<const T *>(rows));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(w * ld);
    copies = carver.take<T>(rows * ld);
    bias = carver.take<Acc>(ld);
    zeros = carver.take<T>(ld);
    results = carver.take<T>(together * ld);
    window = carver.take<const T *>(rows);
    Pack<Isa, T>::transposed(
        {args.weight.data, args.weight.strides[0], args.weight.strides[1]},
        args.c, w, ld, weights, ld);
    for (int64_t c = 0; c < ld; ++c) {
      bias[c] = 0;
      zeros[c] = T(0);
    }
    if (args.bias.data)
      Pack<Isa, T>::rows({args.bias.data, 0, args.bias.strides[0]}, 1, args.c,
                         ld, bias, ld);
    return true;
  }

  /// Input row t as contiguous channels. A row that is strided is copied to the
  /// place of the one that has just left the window.
  const T *row(int64_t b, int64_t t) {
    if (t < 0 && !args.initial.data)
      return zeros;
    const View<const T, 3> &from = t < 0 ? args.initial : args.x;
    int64_t index = t < 0 ? t + args.w - 1 : t;
    if (from.strides[2] == 1)
      return from.at(b, index);
    int64_t rows = args.w + together;
    T *copy = copies + (t + rows) % rows * ld;
    Pack<Isa, T, T>::rows({from.at(b, index), 0, from.strides[2]}, 1, args.c,
                          ld, copy, ld);
    return copy;
  }

  void block(int64_t b, int64_t first, int64_t end) {
    for (int64_t k = 0; k + 1 < args.w; ++k)
      window[k] = row(b, first + k - (args.w - 1));
    for (int64_t t = first; t < end; t += together) {
      int64_t count = least(together, end - t);
      for (int64_t i = 0; i < count; ++i)
        window[args.w - 1 + i] = row(b, t + i);
      tokens(b, t, count);
      for (int64_t k = 0; k + 1 < args.w; ++k)
        window[k] = window[count + k];
    }
    V::finishStreams();
  }

  void tokens(int64_t b, int64_t t, int64_t count) {
    if (args.y.strides[2] == 1)
      return channelsOf(args.y.at(b, t), args.y.strides[1], count);
    channelsOf(results, ld, count);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < args.c; ++c)
        *args.y.at(b, t + i, c) = results[i * ld + c];
  }

  void channelsOf(T *to, int64_t stride, int64_t count) const {
    if (args.w == 4)
      return channels<4>(to, stride, count);
    if (args.w == 3)
      return channels<3>(to, stride, count);
    if (args.w == 2)
      return channels<2>(to, stride, count);
    channels<0>(to, stride, count);
  }

  /// `Width` is w, or 0 for any. Results that fill whole lines of a cache go
  /// past it when it could not hold them anyway.
  template <int Width>
  void channels(T *to, int64_t stride, int64_t count) const {
    constexpr int64_t line = 64 / sizeof(T);
    int64_t begin = 0;
    bool isStreamed =
        Isa::streams && args.l * args.c * int64_t(sizeof(T)) >= leastStreamed &&
        stride % line == 0 && reinterpret_cast<size_t>(to) % sizeof(T) == 0;
    if (isStreamed)
      begin = least(args.c,
                    int64_t(-reinterpret_cast<size_t>(to) / sizeof(T) % line));
    for (int64_t c = 0; c < begin; c += V::lanes)
      edge<Width>(to, stride, count, c, least(V::lanes, begin - c));
    int64_t c = begin;
    for (; c + 2 * V::lanes <= args.c; c += 2 * V::lanes)
      if (isStreamed)
        whole<Width, true>(to, stride, count, c);
      else
        whole<Width, false>(to, stride, count, c);
    for (; c < args.c; c += V::lanes)
      edge<Width>(to, stride, count, c, least(V::lanes, args.c - c));
  }

  /// Two vectors of channels.
  template <int Width, bool Streamed>
  void whole(T *to, int64_t stride, int64_t count, int64_t c) const {
    constexpr int kept = Width ? Width : 1;
    Type factors[kept][2], rows[kept][2];
    for (int k = 0; k < Width; ++k)
      for (int v = 0; v < 2; ++v) {
        factors[k][v] = V::load(weights + k * ld + c + v * V::lanes);
        if (k + 1 < Width)
          rows[k + 1][v] = V::load(window[k] + c + v * V::lanes);
      }
    for (int64_t i = 0; i < count; ++i)
      for (int v = 0; v < 2; ++v) {
        int64_t at = c + v * V::lanes;
        Type sum = V::load(bias + at);
        for (int k = 0; k + 1 < Width; ++k)
          rows[k][v] = rows[k + 1][v];
        if constexpr (Width > 0) {
          const T *from = window[i + Width - 1] + at;
          __builtin_prefetch(from + ahead);
          rows[Width - 1][v] = V::load(from);
        }
        for (int k = 0; k < Width; ++k)
          sum += factors[k][v] * rows[k][v];
        for (int64_t k = 0; k < args.w && !Width; ++k)
          sum += V::load(weights + k * ld + at) * V::load(window[i + k] + at);
        V::template put<Streamed>(to + i * stride + at, finish(sum));
      }
  }

  /// `lanes` channels, at most a vector.
  template <int Width>
  void edge(T *to, int64_t stride, int64_t count, int64_t c,
            int64_t lanes) const {
    for (int64_t i = 0; i < count; ++i) {
      Type sum = V::loadPart(bias + c, lanes);
      for (int64_t k = 0; k < args.w; ++k)
        sum += V::loadPart(weights + k * ld + c, lanes) *
               V::loadPart(window[i + k] + c, lanes);
      V::storePart(to + i * stride + c, finish(sum), lanes);
    }
  }

  Type finish(Type sum) const {
    return args.silu ? VecMath<Isa, Acc>::silu(sum) : sum;
  }

  const Conv1dArgs<T> &args;
  int64_t ld;
  Acc *weights, *bias;
  T *copies, *zeros, *results;
  const T **window;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1D_H
