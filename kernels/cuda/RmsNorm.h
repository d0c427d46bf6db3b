//===- RmsNorm.h - Gated RMS norm -------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_RMSNORM_H
#define CP_KERNELS_CUDA_RMSNORM_H

#include "DeviceRows.h"
#include "Launch.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

template <typename T> struct NormWork {
  int64_t rows, c, groups;
  double eps;
  bool gateFirst;
  DeviceRows<const T> x, gate;
  View<const T, 1> weight;
  DeviceRows<T> y;
};

/// Whether rows can be read 16 bytes at a time.
template <typename T>
bool isVectorised(const DeviceRows<T> &rows, int64_t width) {
  bool fits = reinterpret_cast<uintptr_t>(rows.data) % 16 == 0 &&
              rows.step == 1 && width % vectorWidth<T> == 0;
  for (int i = 0; i < rows.rank; ++i)
    fits = fits && rows.strides[i] % vectorWidth<T> == 0;
  return fits;
}

enum class Gate { None, First, Last };

/// A row's group in the registers of `Threads` threads, `Vectors` times 16
/// bytes each. A block goes through rows, and loads the next one while it works
/// on one.
template <typename T, Gate Order, int Threads, int Vectors>
struct RmsNormVectors {
  static constexpr int threads = Threads > 256 ? Threads : 256;
  static constexpr int blocks = 512 / threads;
  static constexpr int width = vectorWidth<T>, warps = Threads / warpSize;
  static constexpr int rowsOfBlock = threads / Threads;
  struct Shared {
    /// Two, so that one barrier is enough.
    float sums[2][threads / warpSize];
  };

  NormWork<T> work;
  /// How many threads' rows there are in the grid. Those of a group follow each
  /// other, so that a thread keeps its part of the weight.
  int64_t stride;
  /// Whether the weight can be read 16 bytes at a time.
  bool fastWeight;

  CP_DEVICE void operator()() const {
    int count = int(work.c / work.groups), begin = blockY() * count;
    // As it is stored, which takes fewer registers.
    uint4 weights[Vectors];
    CP_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      float weight[width];
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        weight[j] = 1;
      if (work.weight.data && columnAt(i) < count)
        loadParameters(work.weight, begin + columnAt(i), fastWeight, weight);
      weights[i] = narrow(weight);
    }
    int64_t row = int64_t(blockX()) * rowsOfBlock + thread() / Threads;
    // All warps of a row take part in its sums, those of others that are behind
    // the last row too.
    int64_t last = int64_t(blockX()) * rowsOfBlock;
    uint4 values[Vectors], gates[Vectors];
    load(row, begin, count, values, gates);
    CP_NO_UNROLL
    for (int slot = 0; last < work.rows; slot ^= 1) {
      float value[Vectors][width], squares = 0;
      uint4 late[Vectors];
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i) {
        widen(values[i], value[i]);
        if (Order == Gate::First)
          multiplyBySilu(gates[i], value[i]);
        late[i] = gates[i];
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          squares += value[i][j] * value[i][j];
      }
      load(row + stride, begin, count, values, gates);
      float scale =
          1 / sqrtf(sumOf(squares, slot) / float(count) + float(work.eps));
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i) {
        int column = columnAt(i);
        float weight[width];
        widen(weights[i], weight);
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          value[i][j] *= scale * weight[j];
        if (Order == Gate::Last)
          multiplyBySilu(late[i], value[i]);
        if (row < work.rows && column < count)
          storeOnce(reinterpret_cast<uint4 *>(work.y.row(row) + begin + column),
                    narrow(value[i]));
      }
      row += stride;
      last += stride;
    }
  }

private:
  CP_DEVICE void load(int64_t row, int begin, int count,
                      uint4 (&values)[Vectors], uint4 (&gates)[Vectors]) const {
    bool isThere = row < work.rows;
    const T *x = work.x.row(isThere ? row : 0) + begin;
    const T *gate =
        Order == Gate::None ? x : work.gate.row(isThere ? row : 0) + begin;
    CP_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      bool valid = isThere && columnAt(i) < count;
      values[i] =
          valid ? loadOnce(reinterpret_cast<const uint4 *>(x + columnAt(i)))
                : zeros();
      if (Order != Gate::None)
        gates[i] =
            valid
                ? loadOnce(reinterpret_cast<const uint4 *>(gate + columnAt(i)))
                : zeros();
    }
  }
  CP_DEVICE static void multiplyBySilu(const uint4 &gates,
                                       float (&value)[width]) {
    float gate[width];
    widen(gates, gate);
    CP_UNROLL
    for (int j = 0; j < width; ++j)
      value[j] *= siluFor<T>(gate[j]);
  }
  CP_DEVICE static int columnAt(int i) {
    return (i * Threads + thread() % Threads) * width;
  }
  CP_DEVICE static float sumOf(float value, int slot) {
    value = warpSum(value);
    if constexpr (warps > 1) {
      float *sums = shared<Shared>().sums[slot];
      if (lane() == 0)
        sharedStore(&sums[warp()], value);
      barrier();
      value = 0;
      CP_UNROLL
      for (int i = 0; i < warps; ++i)
        value += sharedLoad(&sums[warp() / warps * warps + i]);
    }
    return value;
  }
};

/// Any strides and sizes, a warp for each group of a row.
template <typename T> struct RmsNormPlain {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  NormWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t index = int64_t(blockX()) * (threads / warpSize) + warp();
    int64_t row = index / work.groups, count = work.c / work.groups;
    int64_t begin = index % work.groups * count;
    if (row >= work.rows)
      return;
    Acc squares = 0;
    for (int64_t i = lane(); i < count; i += warpSize) {
      Acc value = valueAt(row, begin + i);
      squares += value * value;
    }
    Acc scale = Acc(1) / rootOf(warpSum(squares) / Acc(count) + Acc(work.eps));
    for (int64_t i = begin + lane(); i < begin + count; i += warpSize) {
      Acc value = valueAt(row, i) * scale;
      if (work.weight.data)
        value *= Acc(widened(*at(work.weight, i)));
      if (work.gate.data && !work.gateFirst)
        value *= siluOf(gateAt(row, i));
      work.y.row(row)[i * work.y.step] = narrowed<T>(value);
    }
  }

private:
  CP_DEVICE Acc gateAt(int64_t row, int64_t i) const {
    return widened(work.gate.row(row)[i * work.gate.step]);
  }
  /// The value that is normalised.
  CP_DEVICE Acc valueAt(int64_t row, int64_t i) const {
    Acc x = widened(work.x.row(row)[i * work.x.step]);
    return work.gate.data && work.gateFirst ? x * siluOf(gateAt(row, i)) : x;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_RMSNORM_H
