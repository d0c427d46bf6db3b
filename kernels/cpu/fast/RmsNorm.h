//===- fast/RmsNorm.h - Fast gated RMS norm ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_RMSNORM_H
#define CP_KERNELS_CPU_FAST_RMSNORM_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// Groups of rows one after another. What is summed up stays in the first cache
/// until its factor is known; the results of one group are written while the
/// next is read, so that memory does both all the time. Rows that do not lie
/// dense are copied there and back.
template <typename Isa, typename T> class RmsNorm {
public:
  static const char *run(const Call &call) {
    RmsNormArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = ceilDiv(args.rows, blockRows);
    return share(blocks, 4 * args.rows * args.c,
                 [&](Items &items) -> const char * {
                   RmsNorm norm(args);
                   if (!norm.allocate())
                     return outOfMemory("rms_norm");
                   for (int64_t i; items.take(i);)
                     norm.block(i * blockRows);
                   norm.advance({});
                   V::finishStreams();
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;

  static constexpr int64_t blockRows = 16;
  static constexpr int together = V::together;
  /// How far ahead inputs are fetched, along a row.
  static constexpr int64_t ahead = 2048 / sizeof(T);

  /// One group of one row; null for none.
  struct Group {
    const T *x = nullptr, *gate = nullptr;
    const Acc *weight = nullptr;
    /// Where results go: contiguous, and from there to `strided`.
    T *to = nullptr, *strided = nullptr;
  };

  explicit RmsNorm(const RmsNormArgs<T> &args)
      : args(args), count(args.c / args.groups),
        padded(roundUp(count, V::lanes)) {}

  bool allocate() {
    constexpr int64_t numCopies = 4;
    void *memory = scratch(Slot::Kernel, carved<Acc>(args.groups * padded) +
                                             carved<Acc>(padded) +
                                             carved<T>(numCopies * padded));
    if (!memory)
      return false;
    Carver carver(memory);
    weights = carver.take<Acc>(args.groups * padded);
    values = carver.take<Acc>(padded);
    copies = carver.take<T>(numCopies * padded);
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
        advance(groupAt(row, group));
  }

  Group groupAt(int64_t row, int64_t group) {
    int64_t first = group * count;
    Group result;
    result.x = rowOf(args.x, row, first, copies);
    if (args.gate.data)
      result.gate = rowOf(args.gate, row, first, copies + (1 + turn) * padded);
    result.weight = weights + group * padded;
    T *to = args.y.at(row, first);
    bool isDense = args.y.stride == 1;
    result.to = isDense ? to : copies + 3 * padded;
    result.strided = isDense ? nullptr : to;
    turn = 1 - turn;
    return result;
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

  /// Reads `next`, and writes the results of the group that was read before.
  void advance(const Group &next) {
    bool isAligned = reinterpret_cast<size_t>(last.to) % 64 == 0;
    double squares = isStreamed && isAligned && !last.strided
                         ? pass<true>(next)
                         : pass<false>(next);
    for (int64_t i = 0; i < count && last.strided; ++i)
      last.strided[i * args.y.stride] = last.to[i];
    last = next;
    factor = Acc(1 / __builtin_sqrt(squares / double(count) + args.eps));
  }

  /// What a pass works on; its own, so that stores leave it in registers.
  struct Operands {
    Group next, last;
    const T *early, *late;
    Acc *values;
    Acc factor;
  };

  /// Returns the sum of squares of `next`.
  template <bool Streamed> double pass(const Group &next) const {
    const Operands op = {next,
                         last,
                         args.gateFirst ? next.gate : nullptr,
                         args.gateFirst ? nullptr : last.gate,
                         values,
                         factor};
    constexpr int64_t step = together * V::lanes;
    const int64_t count = this->count;
    auto load = [](const auto *from) { return V::load(from); };
    auto stream = [](T *to, Type value) {
      V::template put<Streamed>(to, value);
    };
    auto store = [](T *to, Type value) { V::store(to, value); };
    Type squares[together] = {}, rest[1] = {};
    int64_t i = 0;
    for (; i + step <= count; i += step)
      vectors(op, i, squares, load, stream);
    for (; i + V::lanes <= count; i += V::lanes)
      vectors(op, i, rest, load, store);
    int64_t left = count - i;
    if (left > 0)
      vectors(
          op, i, rest,
          [left](const auto *from) { return V::loadPart(from, left); },
          [left](T *to, Type value) { V::storePart(to, value, left); });
    double sum = sumOf(rest[0]);
    for (Type each : squares)
      sum += sumOf(each);
    return sum;
  }

  static double sumOf(Type value) {
    double sum = 0;
    for (int lane = 0; lane < V::lanes; ++lane)
      sum += double(value[lane]);
    return sum;
  }

  /// N vectors from element i on.
  template <int N, typename Load, typename Store>
  [[gnu::always_inline]] static void vectors(const Operands &op, int64_t i,
                                             Type (&squares)[N], Load load,
                                             Store store) {
    Type results[N];
    if (op.last.x)
      V::template each<N>([&](int v) {
        int64_t at = i + v * V::lanes;
        results[v] =
            V::load(op.values + at) * op.factor * V::load(op.last.weight + at);
      });
    if (op.next.x)
      gather(op, i, squares, load);
    if (!op.last.x)
      return;
    if (op.late)
      gated(results, op.late + i, load);
    V::template each<N>(
        [&](int v) { store(op.last.to + i + v * V::lanes, results[v]); });
  }

  template <int N, typename Load>
  [[gnu::always_inline]] static void gather(const Operands &op, int64_t i,
                                            Type (&squares)[N], Load load) {
    Type results[N];
    V::template each<N>([&](int v) {
      const T *from = op.next.x + i + v * V::lanes;
      __builtin_prefetch(from + ahead);
      results[v] = load(from);
    });
    if (op.early)
      gated(results, op.early + i, load);
    V::template each<N>([&](int v) {
      V::store(op.values + i + v * V::lanes, results[v]);
      squares[v] += results[v] * results[v];
    });
  }

  /// results *= silu(gate).
  template <int N, typename Load>
  [[gnu::always_inline]] static void gated(Type (&results)[N], const T *gate,
                                           Load load) {
    Type gates[N];
    V::template each<N>([&](int v) {
      const T *from = gate + v * V::lanes;
      __builtin_prefetch(from + ahead);
      gates[v] = load(from);
    });
    M::silu(gates);
    V::template each<N>([&](int v) { results[v] *= gates[v]; });
  }

  const RmsNormArgs<T> &args;
  int64_t count, padded;
  const bool isStreamed =
      args.rows * args.c * int64_t(sizeof(T)) >= leastStreamed;
  Acc *weights, *values;
  T *copies;
  /// What `values` holds, and its factor.
  Group last;
  Acc factor = 0;
  /// Which copy the next gate goes to: the group before still needs its own.
  int turn = 0;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_RMSNORM_H
