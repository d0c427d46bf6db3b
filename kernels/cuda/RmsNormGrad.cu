//===- RmsNormGrad.cu - The adjoint of the gated RMS norm -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "RmsNormGradVectors.h"
#include "Sums.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {

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

constexpr const char *op = "rms_norm_grad";

template <typename T, Gate Order, int Threads, int Vectors>
const char *start(const NormGradWork<T> &work, void *stream) {
  using Kernel = RmsNormGradVectors<T, Order, Threads, Vectors>;
  // What a card takes at once, for all groups.
  int64_t most = ceilDiv(Kernel::blocks * multiprocessors(), work.groups);
  int64_t blocks = std::min(ceilDiv(work.rows, Kernel::rowsOfBlock), most);
  int64_t stride = blocks * Kernel::rowsOfBlock;
  Workspace workspace(stream);
  auto *parts = static_cast<float *>(
      workspace.allocate(size_t(stride * work.c) * sizeof(float)));
  if (!parts)
    return outOfMemory(op);
  if (const char *message =
          launch(op,
                 Kernel{work, stride,
                        isVectorised(work.weight, work.c / work.groups), parts},
                 {blocks, work.groups}, stream))
    return message;
  return sumParts(op, parts, stride, work.c, work.c, work.dweight, stream);
}

template <typename T, Gate Order>
const char *startVectors(const NormGradWork<T> &work, void *stream) {
  int64_t vectors = work.c / work.groups / vectorWidth<T>;
  if (vectors <= 32)
    return start<T, Order, 32, 1>(work, stream);
  if (vectors <= 128)
    return start<T, Order, 128, 1>(work, stream);
  if (vectors <= 256)
    return start<T, Order, 256, 1>(work, stream);
  if (vectors <= 512)
    return start<T, Order, 512, 1>(work, stream);
  return start<T, Order, 512, 2>(work, stream);
}

} // namespace

template <typename T> const char *rmsNormGrad(const Call &call, void *stream) {
  using Acc = AccumulatorOf<T>;
  using Weight = NormGradWeight<T>;
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
  if constexpr (!std::is_same_v<T, double>) {
    int64_t count = work.c / work.groups;
    bool fits = work.rows && count <= 1024 * vectorWidth<T> &&
                work.groups <= 65535 && isVectorised(work.x, count) &&
                isVectorised(work.dy, count) && isVectorised(work.dx, count);
    if (work.gate.data)
      fits = fits && isVectorised(work.gate, count) &&
             isVectorised(work.dgate, count);
    if (fits)
      return !work.gate.data  ? startVectors<T, Gate::None>(work, stream)
             : work.gateFirst ? startVectors<T, Gate::First>(work, stream)
                              : startVectors<T, Gate::Last>(work, stream);
  }
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
