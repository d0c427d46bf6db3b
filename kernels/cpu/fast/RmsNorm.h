//===- fast/RmsNorm.h - Fast gated RMS norm ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_RMSNORM_H
#define CP_KERNELS_CPU_FAST_RMSNORM_H

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// One group of one row at a time, in two passes: what is summed up stays in
/// the first cache until its factor is known. Rows that do not lie dense are
/// copied there and back.
template <typename Isa, typename T> class RmsNorm {
public:
  static const char *run(const Call &call) {
    RmsNormArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = (args.rows + blockRows - 1) / blockRows;
    return share(blocks, 4 * args.rows * args.c,
                 [&](Items &items) -> const char * {
                   RmsNorm norm(args);
                   if (!norm.allocate())
                     return outOfMemory("rms_norm");
                   for (int64_t i; items.take(i);)
                     norm.block(i * blockRows);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;

  static constexpr int64_t blockRows = 16;

  explicit RmsNorm(const RmsNormArgs<T> &args)
      : args(args), count(args.c / args.groups),
        padded(roundUp(count, V::lanes)) {}

  bool allocate() {
    void *memory =
        scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                  carved<Acc>(padded) + carved<T>(2 * padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    values = carver.take<Acc>(padded);
    copies = carver.take<T>(2 * padded);
    for (int64_t i = 0; i < args.groups * padded; ++i)
      weights[i] = 1;
    if (args.weight.data)
      Pack<Isa, T>::rows({args.weight.data, count * args.weight.strides[0],
                          args.weight.strides[0]},
                         args.groups, count, padded, weights, padded);
    return true;
  }

  void block(int64_t first) {
    int64_t end = least(args.rows, first + blockRows);
    for (int64_t row = first; row < end; ++row)
      for (int64_t group = 0; group < args.groups; ++group)
        normalise(row, group);
    V::finishStreams();
  }

  /// Row as contiguous elements, in `copy` if need be.
  const T *rowOf(const RowTensor<const T> &from, int64_t row, int64_t first,
                 T *copy) {
    const T *at = from.at(row, first);
    if (from.stride == 1)
      return at;
    for (int64_t i = 0; i < count; ++i)
      copy[i] = at[i * from.stride];
    return copy;
  }

  void normalise(int64_t row, int64_t group) {
    int64_t first = group * count;
    const T *x = rowOf(args.x, row, first, copies);
    const T *gate = args.gate.data
                        ? rowOf(args.gate, row, first, copies + padded)
                        : nullptr;
    Acc squares =
        gate && args.gateFirst ? gather<true>(x, gate) : gather<false>(x, gate);
    Acc mean = squares / Acc(count) + Acc(args.eps);
    Acc factor = Acc(1) / __builtin_sqrt(mean);
    const Acc *weight = weights + group * padded;
    const T *late = args.gateFirst ? nullptr : gate;
    T *to = args.y.at(row, first);
    if (args.y.stride == 1)
      return isStreamed && reinterpret_cast<size_t>(to) % 64 == 0
                 ? scale<true>(factor, weight, late, to)
                 : scale<false>(factor, weight, late, to);
    // x has been read.
    scale<false>(factor, weight, late, copies);
    for (int64_t i = 0; i < count; ++i)
      to[i * args.y.stride] = copies[i];
  }

  /// Calls part(i, load) for each vector: load(p) is the one at p + i, with
  /// zeros beyond the last element.
  template <typename Part> void forEach(Part part) const {
    int64_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes)
      part(i, [i](const auto *from) { return V::load(from + i); });
    int64_t rest = count - i;
    if (rest > 0)
      part(i,
           [i, rest](const auto *from) { return V::loadPart(from + i, rest); });
  }

  /// Puts x, or x silu(gate), into values; returns the sum of squares.
  template <bool Gated> Acc gather(const T *x, const T *gate) {
    typename V::Type squares[2] = {};
    forEach([&](int64_t i, auto load) {
      typename V::Type value = load(x);
      if constexpr (Gated)
        value *= M::silu(load(gate));
      V::store(values + i, value);
      squares[i / V::lanes % 2] += value * value;
    });
    return V::sum(squares[0] + squares[1]);
  }

  template <bool Streamed>
  void scale(Acc factor, const Acc *weight, const T *gate, T *to) const {
    forEach([&](int64_t i, auto load) {
      typename V::Type value =
          V::load(values + i) * factor * V::load(weight + i);
      if (gate)
        value *= M::silu(load(gate));
      if (i + V::lanes <= count)
        V::template put<Streamed>(to + i, value);
      else
        V::storePart(to + i, value, count - i);
    });
  }

  const RmsNormArgs<T> &args;
  int64_t count, padded;
  const bool isStreamed =
      args.rows * args.c * int64_t(sizeof(T)) >= leastStreamed;
  Acc *weights, *values;
  T *copies;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORM_H
