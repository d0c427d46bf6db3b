//===- RmsNorm.h - Gated RMS norm -------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_RMSNORM_H
#define CP_KERNELS_CUDA_RMSNORM_H

#include "Launch.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

/// A tensor of any rank as its rows, whose leading dimensions are as few as its
/// strides allow.
template <typename T> struct DeviceRows {
  T *data = nullptr;
  int rank = 0;
  int64_t sizes[maxRank] = {}, strides[maxRank] = {};
  /// Between elements of a row.
  int64_t step = 1;

  CP_DEVICE T *row(int64_t index) const {
    int64_t offset = 0;
    for (int i = rank - 1; i > 0; --i) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return data + offset + (rank ? index * strides[0] : 0);
  }
};

template <typename T> struct NormWork {
  int64_t rows, c, groups;
  double eps;
  bool gateFirst;
  DeviceRows<const T> x, gate;
  View<const T, 1> weight;
  DeviceRows<T> y;
};

/// A row's group in the registers of `Threads` threads, `Vectors` times 16 bytes
/// each: it is read once.
template <typename T, int Threads, int Vectors> struct RmsNormVectors {
  static constexpr int threads = 256, blocks = Vectors > 2 ? 3 : 4;
  static constexpr int width = vectorWidth<T>;
  static constexpr int warps = Threads / warpSize;
  struct Shared {
    float sums[threads / warpSize];
  };

  NormWork<T> work;
  /// Whether the weight can be read 16 bytes at a time.
  bool fastWeight;

  CP_DEVICE void operator()() const {
    int64_t index = int64_t(blockX()) * (threads / Threads) + thread() / Threads;
    int64_t row = index / work.groups, count = work.c / work.groups;
    int64_t begin = index % work.groups * count;
    // With several warps a row there is one row a block.
    if (row >= work.rows)
      return;
    const T *x = work.x.row(row) + begin;
    const T *gate = work.gate.data ? work.gate.row(row) + begin : nullptr;
    uint4 values[Vectors], gates[Vectors];
    CP_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      int column = columnAt(i);
      bool valid = column < count;
      values[i] = valid ? loadOnce(reinterpret_cast<const uint4 *>(x + column))
                        : zeros();
      gates[i] = valid && gate
                     ? loadOnce(reinterpret_cast<const uint4 *>(gate + column))
                     : zeros();
    }
    float value[Vectors][width], squares = 0;
    CP_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      widen(values[i], value[i]);
      if (gate && work.gateFirst)
        multiplyBySilu(gates[i], value[i]);
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        squares += value[i][j] * value[i][j];
    }
    float scale = 1 / sqrtf(sumOf(squares) / float(count) + float(work.eps));
    T *y = work.y.row(row) + begin;
    CP_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      int column = columnAt(i);
      if (column >= count)
        continue;
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        value[i][j] *= scale;
      if (work.weight.data) {
        float weight[width];
        loadParameters(work.weight, begin + column, fastWeight, weight);
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          value[i][j] *= weight[j];
      }
      if (gate && !work.gateFirst)
        multiplyBySilu(gates[i], value[i]);
      storeOnce(reinterpret_cast<uint4 *>(y + column), narrow(value[i]));
    }
  }

private:
  CP_DEVICE static void multiplyBySilu(const uint4 &gates,
                                       float (&value)[width]) {
    float gate[width];
    widen(gates, gate);
    CP_UNROLL
    for (int j = 0; j < width; ++j)
      value[j] *= siluOf(gate[j]);
  }
  CP_DEVICE static int columnAt(int i) {
    return (i * Threads + thread() % Threads) * width;
  }
  CP_DEVICE static float sumOf(float value) {
    value = warpSum(value);
    if constexpr (warps > 1) {
      auto &sums = shared<Shared>().sums;
      if (lane() == 0)
        sums[warp()] = value;
      barrier();
      value = 0;
      CP_UNROLL
      for (int i = 0; i < warps; ++i)
        value += sums[i];
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
  CP_DEVICE static float rootOf(float x) { return sqrtf(x); }
  CP_DEVICE static double rootOf(double x) { return sqrt(x); }
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
