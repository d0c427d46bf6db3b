//===- fast/RmsNormGrad.h - Fast adjoint of the RMS norm --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_RMSNORMGRAD_H
#define CP_KERNELS_CPU_FAST_RMSNORMGRAD_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// Blocks of rows, group by group in two passes: what is normed and the two
/// sums over it, then the results. What the weight gets is summed block by
/// block, and then over blocks in their order.
template <typename Isa, typename T> class RmsNormGrad {
public:
  static const char *run(const Call &call) {
    RmsNormGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = ceilDiv(args.rows, blockRows);
    auto *partial = static_cast<Acc *>(
        scratch(Slot::Segments, carved<Acc>(blocks * args.c)));
    if (!partial)
      return outOfMemory("rms_norm_grad");
    const char *message = share(
        blocks, 8 * args.rows * args.c, [&](Items &items) -> const char * {
          RmsNormGrad norm(args);
          if (!norm.allocate())
            return outOfMemory("rms_norm_grad");
          for (int64_t i; items.take(i);)
            norm.block(i * blockRows, partial + i * args.c);
          return nullptr;
        });
    for (int64_t c = 0; c < args.c && !message; ++c) {
      Acc sum = 0;
      for (int64_t i = 0; i < blocks; ++i)
        sum += partial[i * args.c + c];
      *args.dweight.at(c) = sum;
    }
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr int64_t blockRows = 32;

  /// A group of a row, as contiguous elements.
  struct Group {
    const T *x, *dy, *gate;
    const Acc *weight;
    T *dx, *dgate;
    Acc *dweight;
  };

  explicit RmsNormGrad(const RmsNormGradArgs<T> &args)
      : args(args), count(args.c / args.groups),
        padded(roundUp(count, V::lanes)) {}

  bool allocate() {
    constexpr int64_t numCopies = 5;
    void *memory = scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                             4 * carved<Acc>(padded) +
                                             carved<T>(numCopies * padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    for (Acc **row : {&values, &cotangents, &gates, &slopes})
      *row = carver.take<Acc>(padded);
    copies = carver.take<T>(numCopies * padded);
    for (int64_t i = 0; i < args.groups * padded; ++i)
      weights[i] = 1;
    if (args.weight.data)
      Pack<Isa, T>::rows({args.weight.data, count * args.weight.strides[0],
                          args.weight.strides[0]},
                         args.groups, count, padded, weights, padded);
    return true;
  }

  void block(int64_t first, Acc *dweight) {
    for (int64_t c = 0; c < args.c; ++c)
      dweight[c] = 0;
    int64_t end = least(args.rows, first + blockRows);
    for (int64_t row = first; row < end; ++row)
      for (int64_t group = 0; group < args.groups; ++group)
        pass(row, group, dweight + group * count);
  }

  void pass(int64_t row, int64_t group, Acc *dweight) {
    int64_t first = group * count;
    bool hasGate = args.gate.data;
    Group of = {
        rowOf(args.x, row, first, copies),
        rowOf(args.dy, row, first, copies + padded),
        hasGate ? rowOf(args.gate, row, first, copies + 2 * padded) : nullptr,
        weights + group * padded,
        args.dx.stride == 1 ? args.dx.at(row, first) : copies + 3 * padded,
        !hasGate                 ? nullptr
        : args.dgate.stride == 1 ? args.dgate.at(row, first)
                                 : copies + 4 * padded,
        dweight};
    write(of, read(of));
    scatter(of.dx, args.dx, row, first);
    if (hasGate)
      scatter(of.dgate, args.dgate, row, first);
  }

  const T *rowOf(const RowTensor<const T> &from, int64_t row, int64_t first,
                 T *copy) const {
    const T *at = from.at(row, first);
    if (from.stride == 1)
      return at;
    for (int64_t i = 0; i < count; ++i)
      copy[i] = at[i * from.stride];
    return copy;
  }
  void scatter(const T *from, const RowTensor<T> &to, int64_t row,
               int64_t first) const {
    for (int64_t i = 0; i < count && to.stride != 1; ++i)
      *to.at(row, first + i) = from[i];
  }

  /// Calls fn(i, load, store) for the vectors of a group.
  template <typename Fn> [[gnu::always_inline]] void forEach(Fn fn) const {
    int64_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes)
      fn(
          i, [](const auto *from) { return V::load(from); },
          [](auto *to, Type value) { V::store(to, value); });
    if (int64_t left = count - i; left > 0)
      fn(
          i, [left](const auto *from) { return V::loadPart(from, left); },
          [left](auto *to, Type value) { V::storePart(to, value, left); });
  }

  struct Sums {
    Type squares = {}, products = {};
  };

  /// What is normed, the cotangent of the weighted norm, and silu of the gate
  /// and its slope; the sum of squares, and that of products of the first two.
  Sums read(const Group &of) {
    Sums sums;
    forEach([&](int64_t i, auto load, auto) {
      Type value = load(of.x + i), cotangent = load(of.dy + i);
      if (of.gate) {
        Type gate;
        Type slope = M::siluSlope(load(of.gate + i), &gate);
        V::store(gates + i, gate);
        V::store(slopes + i, slope);
        (args.gateFirst ? value : cotangent) *= gate;
      }
      V::store(values + i, value);
      V::store(cotangents + i, cotangent);
      sums.squares += value * value;
      sums.products += value * cotangent * V::load(of.weight + i);
    });
    return sums;
  }

  void write(const Group &of, const Sums &sums) {
    double square = sumOf(sums.squares) / double(count) + args.eps;
    Acc scale = Acc(1 / __builtin_sqrt(square));
    Acc mean = Acc(sumOf(sums.products) / double(count) * double(scale));
    forEach([&](int64_t i, auto load, auto store) {
      Type normed = V::load(values + i) * scale;
      Type cotangent = V::load(cotangents + i), weight = V::load(of.weight + i);
      store(of.dweight + i, load(of.dweight + i) + cotangent * normed);
      Type value = (cotangent * weight - normed * mean) * scale;
      if (of.gate) {
        Type slope = V::load(slopes + i);
        Type factor = args.gateFirst ? value * load(of.x + i)
                                     : load(of.dy + i) * normed * weight;
        if (args.gateFirst)
          value *= V::load(gates + i);
        store(of.dgate + i, factor * slope);
      }
      store(of.dx + i, value);
    });
  }

  static double sumOf(Type value) {
    double sum = 0;
    for (int lane = 0; lane < V::lanes; ++lane)
      sum += double(value[lane]);
    return sum;
  }

  const RmsNormGradArgs<T> &args;
  int64_t count, padded;
  Acc *weights, *values, *cotangents, *gates, *slopes;
  T *copies;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORMGRAD_H
