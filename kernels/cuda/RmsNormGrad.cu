//===- RmsNormGrad.cu - The adjoint of the gated RMS norm -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "DeviceRows.h"
#include "OpArguments.h"
#include "Sums.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

namespace {

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

/// A warp for each group of a row.
template <typename T> struct NormGradRows {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  NormGradWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t index = int64_t(blockX()) * (threads / warpSize) + warp();
    int64_t row = index / work.groups, count = work.c / work.groups;
    int64_t begin = index % work.groups * count, end = begin + count;
    if (row >= work.rows)
      return;
    Acc squares = 0, products = 0;
    for (int64_t c = begin + lane(); c < end; c += warpSize) {
      Acc value = work.valueAt(row, c);
      squares += value * value;
      products += work.dWeightedAt(row, c) * work.weightAt(c) * value;
    }
    Acc scale = Acc(1) / rootOf(warpSum(squares) / Acc(count) + Acc(work.eps));
    Acc mean = warpSum(products) * scale / Acc(count);
    for (int64_t c = begin + lane(); c < end; c += warpSize)
      write(row, c, scale, mean);
    if (lane() == 0)
      work.scales[index] = scale;
  }

private:
  CP_DEVICE void write(int64_t row, int64_t c, Acc scale, Acc mean) const {
    Acc normed = work.valueAt(row, c) * scale;
    Acc dValue =
        scale * (work.dWeightedAt(row, c) * work.weightAt(c) - normed * mean);
    if (work.isGatedFirst()) {
      Acc x = widened(work.x.row(row)[c * work.x.step]);
      Acc gate = work.gateAt(row, c);
      storeGate(row, c, dValue * x * siluSlopeOf(gate));
      dValue *= siluOf(gate);
    }
    if (work.isGatedLast())
      storeGate(row, c,
                work.cotangentAt(row, c) * normed * work.weightAt(c) *
                    siluSlopeOf(work.gateAt(row, c)));
    work.dx.row(row)[c * work.dx.step] = narrowed<T>(dValue);
  }
  CP_DEVICE void storeGate(int64_t row, int64_t c, Acc value) const {
    work.dgate.row(row)[c * work.dgate.step] = narrowed<T>(value);
  }
};

/// A thread a channel of some rows: its part of the weight's cotangent.
template <typename T> struct NormGradWeight {
  static constexpr int threads = 64, blocks = 1;
  static constexpr int64_t rows = 32;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  NormGradWork<T> work;
  Acc *parts;

  CP_DEVICE void operator()() const {
    int64_t c = int64_t(blockX()) * threads + thread(), part = blockY();
    if (c >= work.c)
      return;
    int64_t end = least((part + 1) * rows, work.rows);
    int64_t group = c / (work.c / work.groups);
    Acc sum = 0;
    for (int64_t row = part * rows; row < end; ++row)
      sum += work.dWeightedAt(row, c) * work.valueAt(row, c) *
             work.scales[row * work.groups + group];
    parts[part * work.c + c] = sum;
  }
};

} // namespace

template <typename T> const char *rmsNormGrad(const Call &call, void *stream) {
  using Acc = AccumulatorOf<T>;
  using Weight = NormGradWeight<T>;
  const char *op = "rms_norm_grad";
  RmsNormGradBuffers<T> from;
  if (const char *message = decode(onDevice(call), from))
    return message;
  NormGradWork<T> work = {from,
                          deviceRows<const T>(from.x),
                          deviceRows<const T>(from.dy),
                          deviceRows<const T>(from.gate),
                          deviceRows<T>(from.dx),
                          deviceRows<T>(from.dgate),
                          nullptr};
  if (!work.c)
    return nullptr;
  Workspace workspace(stream);
  int64_t groups = work.rows * work.groups;
  int64_t parts = ceilDiv(work.rows, Weight::rows);
  work.scales =
      static_cast<Acc *>(workspace.allocate(size_t(groups) * sizeof(Acc)));
  auto *sums = static_cast<Acc *>(
      workspace.allocate(size_t(parts * work.c) * sizeof(Acc)));
  if (!work.scales || !sums)
    return outOfMemory(op);
  if (const char *message = launch(
          op, NormGradRows<T>{work},
          {ceilDiv(groups, NormGradRows<T>::threads / warpSize)}, stream))
    return message;
  if (const char *message =
          launch(op, Weight{work, sums},
                 {ceilDiv(work.c, Weight::threads), parts}, stream))
    return message;
  return sumParts(op, sums, parts, work.c, work.c, work.dweight, stream);
}

template const char *rmsNormGrad<float>(const Call &, void *);
template const char *rmsNormGrad<double>(const Call &, void *);
template const char *rmsNormGrad<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
