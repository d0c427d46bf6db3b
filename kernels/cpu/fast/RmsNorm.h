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

/// One group of one row at a time, copied to padded scratch: the padding is 0
/// and adds nothing to the sum.
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
    void *memory = scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                             2 * carved<Acc>(padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    values = carver.take<Acc>(padded);
    gates = carver.take<Acc>(padded);
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
  }

  void load(const RowTensor<const T> &from, int64_t row, int64_t first,
            Acc *to) {
    Pack<Isa, T>::rows({from.at(row, first), 0, from.stride}, 1, count, padded,
                       to, padded);
  }

  void normalise(int64_t row, int64_t group) {
    int64_t first = group * count;
    load(args.x, row, first, values);
    if (args.gate.data)
      load(args.gate, row, first, gates);
    typename V::Type squares = {};
    for (int64_t i = 0; i < padded; i += V::lanes) {
      typename V::Type value = V::load(values + i);
      if (args.gate.data && args.gateFirst)
        value *= M::silu(V::load(gates + i));
      V::store(values + i, value);
      squares += value * value;
    }
    Acc mean = V::sum(squares) / Acc(count) + Acc(args.eps);
    scale(Acc(1) / __builtin_sqrt(mean), weights + group * padded);
    store(row, first);
  }

  void scale(Acc factor, const Acc *weight) {
    for (int64_t i = 0; i < padded; i += V::lanes) {
      typename V::Type value =
          V::load(values + i) * factor * V::load(weight + i);
      if (args.gate.data && !args.gateFirst)
        value *= M::silu(V::load(gates + i));
      V::store(values + i, value);
    }
  }

  void store(int64_t row, int64_t first) {
    if (args.y.stride == 1)
      Pack<Isa, Acc, T>::rows({values, 0, 1}, 1, count, count,
                              args.y.at(row, first), 0);
    else
      for (int64_t i = 0; i < count; ++i)
        *args.y.at(row, first + i) = T(values[i]);
  }

  const RmsNormArgs<T> &args;
  int64_t count, padded;
  Acc *weights, *values, *gates;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORM_H
