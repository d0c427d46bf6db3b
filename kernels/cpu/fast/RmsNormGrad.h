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
#include "fast/BlockSums.h"
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
    int64_t sums = args.groups * roundUp(args.c / args.groups, V::lanes);
    auto *partial = static_cast<Acc *>(
        scratch(Slot::Segments, carved<Acc>((blocks ? blocks : 1) * sums)));
    if (!partial)
      return outOfMemory("rms_norm_grad");
    const char *message = share(
        blocks, 8 * args.rows * args.c, [&](Items &items) -> const char * {
          RmsNormGrad norm(args);
          if (!norm.allocate())
            return outOfMemory("rms_norm_grad");
          for (int64_t i; items.take(i);)
            norm.block(i * blockRows, partial + i * sums);
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
  static constexpr int64_t blockRows = 32;
  static constexpr int together = V::together;

  /// A group of a row, as contiguous elements.
  struct Group {
    const T *x, *dy, *gate;
    const Acc *weight;
    T *dx, *dgate;
    Acc *dweight;
    /// The inputs behind these: they are fetched while results are made, and
    /// memory works all the time.
    const T *nextX, *nextDy, *nextGate;
  };

  explicit RmsNormGrad(const RmsNormGradArgs<T> &args)
      : args(args), count(args.c / args.groups),
        padded(roundUp(count, V::lanes)) {}

  bool allocate() {
    constexpr int64_t numCopies = 5;
    void *memory = scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                             2 * carved<Acc>(padded) +
                                             carved<T>(numCopies * padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    gates = carver.take<Acc>(padded);
    slopes = carver.take<Acc>(padded);
    copies = carver.take<T>(numCopies * padded);
    for (int64_t i = 0; i < args.groups * padded; ++i)
      weights[i] = 1;
    if (args.weight.data)
      Pack<Isa, T>::rows({args.weight.data, count * args.weight.strides[0],
                          args.weight.strides[0]},
                         args.groups, count, padded, weights, padded);
    return true;
  }

  /// Its rows of the results, and what they give the weight: [groups][padded].
  void block(int64_t first, Acc *dweight) {
    for (int64_t i = 0; i < args.groups * padded; ++i)
      dweight[i] = 0;
    int64_t end = least(args.rows, first + blockRows);
    for (int64_t row = first; row < end; ++row)
      for (int64_t group = 0; group < args.groups; ++group)
        pass(row, group, dweight + group * padded);
    V::finishStreams();
  }

  void pass(int64_t row, int64_t group, Acc *dweight) {
    int64_t first = group * count;
    bool hasGate = args.gate.data, isLast = group + 1 == args.groups;
    int64_t nextRow = least(row + isLast, args.rows - 1);
    int64_t next = isLast ? 0 : first + count;
    Group of = {
        rowOf(args.x, row, first, copies),
        rowOf(args.dy, row, first, copies + padded),
        hasGate ? rowOf(args.gate, row, first, copies + 2 * padded) : nullptr,
        weights + group * padded,
        args.dx.stride == 1 ? args.dx.at(row, first) : copies + 3 * padded,
        !hasGate                 ? nullptr
        : args.dgate.stride == 1 ? args.dgate.at(row, first)
                                 : copies + 4 * padded,
        dweight,
        args.x.at(nextRow, next),
        args.dy.at(nextRow, next),
        hasGate ? args.gate.at(nextRow, next) : nullptr};
    isStreamed(of) ? transform<true>(of) : transform<false>(of);
    scatter(of.dx, args.dx, row, first);
    if (hasGate)
      scatter(of.dgate, args.dgate, row, first);
  }

  /// Whether results go past the caches, which could not hold them anyway.
  bool isStreamed(const Group &of) const {
    return Isa::streams &&
           args.rows * args.c * int64_t(sizeof(T)) >= leastStreamed &&
           (reinterpret_cast<size_t>(of.dx) |
            reinterpret_cast<size_t>(of.dgate)) %
                   64 ==
               0;
  }

  template <bool Streamed> void transform(const Group &of) const {
    if (!of.gate)
      write<Gate::None, Streamed>(of, read<Gate::None, Streamed>(of));
    else if (args.gateFirst)
      write<Gate::First, Streamed>(of, read<Gate::First, Streamed>(of));
    else
      write<Gate::Last, Streamed>(of, read<Gate::Last, Streamed>(of));
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

  /// Calls `fn`, a generic lambda, for N vectors of a group at a time:
  /// fn(N, i, load, store), with N as a type. What is stored is streamed, or
  /// not.
  template <bool Streamed, typename Fn>
  [[gnu::always_inline]] static void forEach(int64_t count, Fn fn) {
    auto load = [](const auto *from) { return V::load(from); };
    auto store = [](T *to, Type value) {
      V::template put<Streamed>(to, value);
    };
    constexpr int64_t step = together * V::lanes;
    int64_t i = 0;
    for (; i + step <= count; i += step)
      fn(Several<together>(), i, load, store);
    for (; i + V::lanes <= count; i += V::lanes)
      fn(Several<1>(), i, load, store);
    if (int64_t left = count - i; left > 0)
      fn(
          Several<1>(), i,
          [left](const auto *from) { return V::loadPart(from, left); },
          [left](T *to, Type value) { V::storePart(to, value, left); });
  }
  template <int N> using Several = std::integral_constant<int, N>;

  enum class Gate { None, First, Last };

  struct Sums {
    Type squares[together] = {}, products[together] = {};
  };

  /// Silu of the gate and its slope; the sum of squares of what is normed, and
  /// that of its products with the cotangent of the norm.
  template <Gate G, bool Streamed> Sums read(const Group &group) const {
    Sums sums;
    // Its own, so that stores leave it in registers.
    const Group of = group;
    Acc *const gates = this->gates, *const slopes = this->slopes;
    forEach<Streamed>(count, [&](auto several, int64_t i, auto load,
                                 auto) __attribute__((always_inline)) {
      constexpr int n = several;
      Type gate[n], slope[n];
      if constexpr (G != Gate::None) {
        V::template each<n>(
            [&](int v) { slope[v] = load(of.gate + i + v * V::lanes); });
        M::siluSlope(slope, gate);
      }
      V::template each<n>([&](int v) __attribute__((always_inline)) {
        int64_t at = i + v * V::lanes;
        if constexpr (!Streamed)
          __builtin_prefetch(of.dx + at, 1);
        Type value = load(of.x + at), cotangent = load(of.dy + at);
        if constexpr (G != Gate::None) {
          if constexpr (!Streamed)
            __builtin_prefetch(of.dgate + at, 1);
          V::store(gates + at, gate[v]);
          V::store(slopes + at, slope[v]);
          (G == Gate::First ? value : cotangent) *= gate[v];
        }
        sums.squares[v] += value * value;
        sums.products[v] += value * cotangent * V::load(of.weight + at);
      });
    });
    return sums;
  }

  template <Gate G, bool Streamed>
  void write(const Group &group, const Sums &sums) const {
    const Group of = group;
    double square = sumOf(sums.squares) / double(count) + args.eps;
    const Acc scale = Acc(1 / __builtin_sqrt(square));
    const Acc mean = Acc(sumOf(sums.products) / double(count) * double(scale));
    const Acc *const gates = this->gates, *const slopes = this->slopes;
    Acc *const dweight = of.dweight;
    forEach<Streamed>(count, [&](auto several, int64_t i, auto load,
                                 auto store) __attribute__((always_inline)) {
      V::template each<several>([&](int v) __attribute__((always_inline)) {
        int64_t at = i + v * V::lanes;
        __builtin_prefetch(of.nextX + at);
        __builtin_prefetch(of.nextDy + at);
        Type x = load(of.x + at), dy = load(of.dy + at);
        Type weight = V::load(of.weight + at), gate = V::splat(1);
        if constexpr (G != Gate::None)
          gate = V::load(gates + at);
        Type normed = (G == Gate::First ? x * gate : x) * scale;
        Type cotangent = G == Gate::Last ? dy * gate : dy;
        V::store(dweight + at, V::load(dweight + at) + cotangent * normed);
        Type value = (cotangent * weight - normed * mean) * scale;
        if constexpr (G != Gate::None) {
          __builtin_prefetch(of.nextGate + at);
          Type factor = G == Gate::First ? value * x : dy * normed * weight;
          store(of.dgate + at, factor * V::load(slopes + at));
        }
        store(of.dx + at, G == Gate::First ? value * gate : value);
      });
    });
  }

  static double sumOf(const Type (&values)[together]) {
    double sum = 0;
    for (const Type &value : values)
      for (int lane = 0; lane < V::lanes; ++lane)
        sum += double(value[lane]);
    return sum;
  }

  static void writeSums(const RmsNormGradArgs<T> &args, const Acc *sums) {
    int64_t count = args.c / args.groups, padded = roundUp(count, V::lanes);
    for (int64_t c = 0; c < args.c; ++c)
      *args.dweight.at(c) = sums[c / count * padded + c % count];
  }

  const RmsNormGradArgs<T> &args;
  int64_t count, padded;
  Acc *weights, *gates, *slopes;
  T *copies;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORMGRAD_H
