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

/// Groups of rows one after another, each in two passes: what is normed and the
/// two sums over it, then the results, which are written while the next group
/// is read, so that memory does both all the time. What the weight gets is
/// summed block by block, and then over blocks in their order.
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
          norm.advance({});
          V::finishStreams();
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

  /// How far ahead inputs are fetched, along a row.
  static constexpr int64_t ahead = 2048 / sizeof(T);

  /// A group of a row, as contiguous elements; null for none.
  struct Group {
    const T *x = nullptr, *dy = nullptr, *gate = nullptr;
    const Acc *weight = nullptr;
    /// Silu of the gate and its slope.
    Acc *silus = nullptr, *slopes = nullptr;
    /// Where results go, of row `row` from channel `first` on.
    T *dx = nullptr, *dgate = nullptr;
    Acc *dweight = nullptr;
    int64_t row = 0, first = 0;
  };

  explicit RmsNormGrad(const RmsNormGradArgs<T> &args)
      : args(args), count(args.c / args.groups),
        padded(roundUp(count, V::lanes)) {}

  bool allocate() {
    constexpr int64_t numCopies = 8;
    void *memory = scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                             2 * carved<Acc>(2 * padded) +
                                             carved<T>(numCopies * padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    silus = carver.take<Acc>(2 * padded);
    slopes = carver.take<Acc>(2 * padded);
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
        advance(groupAt(row, group, dweight + group * padded));
  }

  Group groupAt(int64_t row, int64_t group, Acc *dweight) {
    int64_t first = group * count;
    // The group before still needs its own.
    T *copy = copies + turn * 3 * padded, *results = copies + 6 * padded;
    Group of;
    of.x = rowOf(args.x, row, first, copy);
    of.dy = rowOf(args.dy, row, first, copy + padded);
    of.dx = args.dx.stride == 1 ? args.dx.at(row, first) : results;
    if (args.gate.data) {
      of.gate = rowOf(args.gate, row, first, copy + 2 * padded);
      of.dgate =
          args.dgate.stride == 1 ? args.dgate.at(row, first) : results + padded;
    }
    of.weight = weights + group * padded;
    of.silus = silus + turn * padded;
    of.slopes = slopes + turn * padded;
    of.dweight = dweight;
    of.row = row;
    of.first = first;
    turn = 1 - turn;
    return of;
  }

  /// Reads `next`, and writes the results of the group that was read before.
  void advance(const Group &next) {
    const Sums sums = isStreamed(last) ? pass<true>(next) : pass<false>(next);
    if (last.x) {
      scatter(last.dx, args.dx, last.row, last.first);
      if (last.gate)
        scatter(last.dgate, args.dgate, last.row, last.first);
    }
    last = next;
    double square = sumOf(sums.squares) / double(count) + args.eps;
    scale = Acc(1 / __builtin_sqrt(square));
    mean = Acc(sumOf(sums.products) / double(count) * double(scale));
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

  template <bool Streamed> Sums pass(const Group &next) const {
    if (!args.gate.data)
      return pass<Gate::None, Streamed>(next);
    return args.gateFirst ? pass<Gate::First, Streamed>(next)
                          : pass<Gate::Last, Streamed>(next);
  }

  /// What a pass works on; its own, so that stores leave it in registers.
  struct Operands {
    Group next, last;
    Acc scale, mean;
  };

  /// Returns the sum of squares of what is normed of `next`, and that of its
  /// products with the cotangent of the norm.
  template <Gate G, bool Streamed> Sums pass(const Group &next) const {
    const Operands op = {next, last, scale, mean};
    Sums sums;
    forEach<Streamed>(count, [&](auto several, int64_t i, auto load,
                                 auto store) __attribute__((always_inline)) {
      if (op.last.x)
        V::template each<several>([&](int v) __attribute__((always_inline)) {
          write<G>(op, i + v * V::lanes, load, store);
        });
      if (op.next.x)
        read<G, several>(op.next, i, load, sums);
    });
    return sums;
  }

  template <Gate G, int N, typename Load>
  [[gnu::always_inline]] static void read(const Group &of, int64_t i, Load load,
                                          Sums &sums) {
    Type silu[N], slope[N];
    if constexpr (G != Gate::None) {
      V::template each<N>([&](int v) __attribute__((always_inline)) {
        const T *from = of.gate + i + v * V::lanes;
        __builtin_prefetch(from + ahead);
        slope[v] = load(from);
      });
      M::siluSlope(slope, silu);
    }
    V::template each<N>([&](int v) __attribute__((always_inline)) {
      int64_t at = i + v * V::lanes;
      __builtin_prefetch(of.x + at + ahead);
      __builtin_prefetch(of.dy + at + ahead);
      Type value = load(of.x + at), cotangent = load(of.dy + at);
      if constexpr (G != Gate::None) {
        V::store(of.silus + at, silu[v]);
        V::store(of.slopes + at, slope[v]);
        (G == Gate::First ? value : cotangent) *= silu[v];
      }
      sums.squares[v] += value * value;
      sums.products[v] += value * cotangent * V::load(of.weight + at);
    });
  }

  template <Gate G, typename Load, typename Store>
  [[gnu::always_inline]] static void write(const Operands &op, int64_t at,
                                           Load load, Store store) {
    const Group &of = op.last;
    Type x = load(of.x + at), dy = load(of.dy + at);
    Type weight = V::load(of.weight + at), gate = V::splat(1);
    if constexpr (G != Gate::None)
      gate = V::load(of.silus + at);
    Type normed = (G == Gate::First ? x * gate : x) * op.scale;
    Type cotangent = G == Gate::Last ? dy * gate : dy;
    V::store(of.dweight + at, V::load(of.dweight + at) + cotangent * normed);
    Type value = (cotangent * weight - normed * op.mean) * op.scale;
    if constexpr (G != Gate::None) {
      Type factor = G == Gate::First ? value * x : dy * normed * weight;
      store(of.dgate + at, factor * V::load(of.slopes + at));
    }
    store(of.dx + at, G == Gate::First ? value * gate : value);
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
  /// Of two groups, which take turns, silu of the gate and its slope.
  Acc *weights, *silus, *slopes;
  T *copies;
  int turn = 0;
  /// What was read, and its factors.
  Group last;
  Acc scale = 0, mean = 0;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORMGRAD_H
