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

/// One token at a time, vectors over the channels. The window of w input rows
/// stays in the first cache.
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
  /// Far more than the window that two blocks both read.
  static constexpr int64_t blockTokens = 128;

  explicit Conv1d(const Conv1dArgs<T> &args)
      : args(args), ld(roundUp(args.c, V::lanes)) {}

  bool allocate() {
    int64_t w = args.w;
    void *memory =
        scratch(Slot::Kernel, carved<Acc>(w * ld) + carved<T>(w * ld) +
                                  carved<Acc>(ld) + 2 * carved<T>(ld) +
                                  carved<const T *>(w));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(w * ld);
    copies = carver.take<T>(w * ld);
    bias = carver.take<Acc>(ld);
    zeros = carver.take<T>(ld);
    result = carver.take<T>(ld);
    window = carver.take<const T *>(w);
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
    T *copy = copies + (t + args.w) % args.w * ld;
    Pack<Isa, T, T>::rows({from.at(b, index), 0, from.strides[2]}, 1, args.c,
                          ld, copy, ld);
    return copy;
  }

  void block(int64_t b, int64_t first, int64_t end) {
    for (int64_t k = 0; k + 1 < args.w; ++k)
      window[k + 1] = row(b, first + k - (args.w - 1));
    for (int64_t t = first; t < end; ++t) {
      for (int64_t k = 0; k + 1 < args.w; ++k)
        window[k] = window[k + 1];
      window[args.w - 1] = row(b, t);
      token(b, t);
    }
  }

  void token(int64_t b, int64_t t) {
    bool isContiguous = args.y.strides[2] == 1;
    T *to = isContiguous ? args.y.at(b, t) : result;
    if (args.w == 4)
      channels<4>(to);
    else
      channels<0>(to);
    for (int64_t c = 0; c < args.c && !isContiguous; ++c)
      *args.y.at(b, t, c) = result[c];
  }

  /// `Width` is w, or 0 for any.
  template <int Width> void channels(T *to) const {
    int64_t c = 0;
    for (; c + V::lanes <= args.c; c += V::lanes)
      V::store(to + c, value<Width>(c, [&](const T *from) {
                 return V::load(from + c);
               }));
    int64_t rest = args.c - c;
    if (rest > 0)
      V::storePart(
          to + c,
          value<Width>(
              c, [&](const T *from) { return V::loadPart(from + c, rest); }),
          rest);
  }

  template <int Width, typename Load>
  typename V::Type value(int64_t c, Load load) const {
    typename V::Type sum = V::load(bias + c);
    int64_t w = Width ? Width : args.w;
    for (int64_t k = 0; k < w; ++k)
      sum += V::load(weights + k * ld + c) * load(window[k]);
    return args.silu ? VecMath<Isa, Acc>::silu(sum) : sum;
  }

  const Conv1dArgs<T> &args;
  int64_t ld;
  Acc *weights, *bias;
  T *copies, *zeros, *result;
  const T **window;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1D_H
