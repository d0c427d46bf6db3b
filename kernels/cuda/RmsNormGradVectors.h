//===- RmsNormGradVectors.h - A norm's cotangents ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_RMSNORMGRADVECTORS_H
#define CP_KERNELS_CUDA_RMSNORMGRADVECTORS_H

#include "DeviceRows.h"
#include "OpArguments.h"
#include "RmsNorm.h"

namespace cp::kernels::cuda {

template <typename T> struct NormGradWork : RmsNormGradShape<T> {
  using Acc = AccumulatorOf<T>;
  DeviceRows<const T> x, dy, gate;
  DeviceRows<T> dx, dgate;
  /// [rows, groups]
  Acc *scales;

  CP_DEVICE bool isGatedFirst() const { return gate.data && this->gateFirst; }
  CP_DEVICE bool isGatedLast() const { return gate.data && !this->gateFirst; }
  CP_DEVICE Acc gateAt(int64_t row, int64_t c) const {
    return widened(gate.row(row)[c * gate.step]);
  }
  /// What is normed.
  CP_DEVICE Acc valueAt(int64_t row, int64_t c) const {
    Acc value = widened(x.row(row)[c * x.step]);
    return isGatedFirst() ? value * siluOf(gateAt(row, c)) : value;
  }
  CP_DEVICE Acc cotangentAt(int64_t row, int64_t c) const {
    return widened(dy.row(row)[c * dy.step]);
  }
  /// The cotangent of the norm's result, before it is gated.
  CP_DEVICE Acc dWeightedAt(int64_t row, int64_t c) const {
    Acc cotangent = cotangentAt(row, c);
    return isGatedLast() ? cotangent * siluOf(gateAt(row, c)) : cotangent;
  }
  CP_DEVICE Acc weightAt(int64_t c) const {
    return this->weight.data ? Acc(widened(*at(this->weight, c))) : Acc(1);
  }
};

/// A row's group in the registers of `Threads` threads, `Vectors` times 16
/// bytes each. A block goes through rows, so that a thread keeps its channels,
/// with their part of the weight's cotangent.
template <typename T, Gate Order, int Threads, int Vectors>
struct RmsNormGradVectors {
  static constexpr int threads = Threads > 256 ? Threads : 256;
  static constexpr int blocks = 512 / threads;
  static constexpr int width = vectorWidth<T>, warps = Threads / warpSize;
  static constexpr int rowsOfBlock = threads / Threads;
  struct Shared {
    /// Of squares and of products; two, so that one barrier is enough.
    float sums[2][2][threads / warpSize];
  };

  NormGradWork<T> work;
  /// How many threads' rows there are in the grid.
  int64_t stride;
  /// Whether the weight can be read 16 bytes at a time.
  bool isFastWeight;
  /// [stride, c]: of each thread's rows what goes to the weight.
  float *parts;

  CP_DEVICE void operator()() const { Row(*this).run(); }

private:
  class Row {
  public:
    CP_DEVICE explicit Row(const RmsNormGradVectors &kernel)
        : kernel(kernel), work(kernel.work), count(int(work.c / work.groups)),
          begin(blockY() * count),
          first(int64_t(blockX()) * rowsOfBlock + thread() / Threads) {}

    CP_DEVICE void run() {
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i) {
        float weight[width];
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          weight[j] = 1;
        if (work.weight.data && columnAt(i) < count)
          loadParameters(work.weight, begin + columnAt(i), kernel.isFastWeight,
                         weight);
        weights[i] = narrow(weight);
      }
      int64_t row = first;
      // All warps of a row take part in its sums, those of others that are
      // behind the last row too.
      int64_t last = int64_t(blockX()) * rowsOfBlock;
      CP_NO_UNROLL
      for (int slot = 0; last < work.rows; slot ^= 1) {
        passRow(row, slot);
        row += kernel.stride;
        last += kernel.stride;
      }
      float *to = kernel.parts + first * work.c + begin;
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i)
        CP_UNROLL
      for (int j = 0; j < width; ++j)
        if (columnAt(i) < count)
          to[columnAt(i) + j] = dWeight[i][j];
    }

  private:
    CP_DEVICE static int columnAt(int i) {
      return (i * Threads + thread() % Threads) * width;
    }
    CP_DEVICE uint4 load(const DeviceRows<const T> &from, int64_t row,
                         int i) const {
      if (row >= work.rows || columnAt(i) >= count)
        return zeros();
      return loadOnce(
          reinterpret_cast<const uint4 *>(from.row(row) + begin + columnAt(i)));
    }
    CP_DEVICE void store(const DeviceRows<T> &to, int64_t row, int i,
                         const float (&values)[width]) const {
      if (row < work.rows && columnAt(i) < count)
        storeOnce(reinterpret_cast<uint4 *>(to.row(row) + begin + columnAt(i)),
                  narrow(values));
    }

    CP_DEVICE void passRow(int64_t row, int slot) {
      uint4 xs[Vectors], dys[Vectors], gates[Vectors] = {};
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i) {
        xs[i] = load(work.x, row, i);
        dys[i] = load(work.dy, row, i);
        if (Order != Gate::None)
          gates[i] = load(work.gate, row, i);
      }
      float squares = 0, products = 0;
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i) {
        float weight[width], value[width], dWeighted[width];
        widen(weights[i], weight);
        form(xs[i], dys[i], gates[i], value, dWeighted);
        CP_UNROLL
        for (int j = 0; j < width; ++j) {
          squares += value[j] * value[j];
          products += dWeighted[j] * weight[j] * value[j];
        }
      }
      addUp(squares, products, slot);
      float scale = 1 / sqrtf(squares / float(count) + float(work.eps));
      float mean = products * scale / float(count);
      CP_UNROLL
      for (int i = 0; i < Vectors; ++i)
        passVector(row, i, scale, mean, kept(xs[i]), kept(dys[i]),
                   kept(gates[i]));
    }

    /// Where there are several, what was made of them is made again.
    CP_DEVICE static uint4 kept(const uint4 &loaded) {
      return Vectors > 1 ? again(loaded) : loaded;
    }
    /// What is normed, and the cotangent of the norm before it is gated.
    CP_DEVICE static void form(const uint4 &xs, const uint4 &dys,
                               const uint4 &gates, float (&value)[width],
                               float (&dWeighted)[width]) {
      widen(xs, value);
      widen(dys, dWeighted);
      if (Order == Gate::First)
        multiplyBySilu(gates, value);
      if (Order == Gate::Last)
        multiplyBySilu(gates, dWeighted);
    }

    CP_DEVICE void passVector(int64_t row, int i, float scale, float mean,
                              const uint4 &xs, const uint4 &dys,
                              const uint4 &gates) {
      float weight[width], value[width], dWeighted[width], gate[width] = {},
                                                           other[width] = {};
      widen(weights[i], weight);
      form(xs, dys, gates, value, dWeighted);
      if (Order != Gate::None) {
        widen(gates, gate);
        // By which the gate was multiplied.
        widen(Order == Gate::First ? xs : dys, other);
      }
      float dx[width], dGate[width];
      CP_UNROLL
      for (int j = 0; j < width; ++j) {
        float normed = value[j] * scale;
        dWeight[i][j] += dWeighted[j] * normed;
        dx[j] = scale * (dWeighted[j] * weight[j] - normed * mean);
        if (Order == Gate::First) {
          dGate[j] = dx[j] * other[j] * siluSlopeOf(gate[j]);
          dx[j] *= siluOf(gate[j]);
        }
        if (Order == Gate::Last)
          dGate[j] = other[j] * normed * weight[j] * siluSlopeOf(gate[j]);
      }
      store(work.dx, row, i, dx);
      if (Order != Gate::None)
        store(work.dgate, row, i, dGate);
    }

    CP_DEVICE static void multiplyBySilu(const uint4 &gates,
                                         float (&value)[width]) {
      float gate[width];
      widen(gates, gate);
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        value[j] *= siluOf(gate[j]);
    }

    /// Over the row.
    CP_DEVICE static void addUp(float &squares, float &products, int slot) {
      squares = warpSum(squares);
      products = warpSum(products);
      if constexpr (warps > 1) {
        auto &sums = shared<Shared>().sums[slot];
        if (lane() == 0) {
          sharedStore(&sums[0][warp()], squares);
          sharedStore(&sums[1][warp()], products);
        }
        barrier();
        squares = products = 0;
        CP_UNROLL
        for (int i = 0; i < warps; ++i) {
          int from = warp() / warps * warps + i;
          squares += sharedLoad(&sums[0][from]);
          products += sharedLoad(&sums[1][from]);
        }
      }
    }

    const RmsNormGradVectors &kernel;
    const NormGradWork<T> &work;
    int count, begin;
    int64_t first;
    /// As they are stored, which takes fewer registers.
    uint4 weights[Vectors];
    float dWeight[Vectors][width] = {};
  };
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_RMSNORMGRADVECTORS_H
