//===- KernelCase.h - A kernel's call at some shape -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_KERNELCASE_H
#define CP_BENCHMARKS_KERNELCASE_H

#include "Kernels.h"
#include "Memory.h"

#include <string>
#include <vector>

namespace cp::bench {

/// A dense tensor, 64-byte aligned: f32, or bf16 when narrow.
class Tensor {
public:
  /// Uniform numbers from [low, high), the same each time.
  Tensor(std::vector<int64_t> sizes, bool isNarrow, float low, float high);
  /// Zeros.
  Tensor(std::vector<int64_t> sizes, bool isNarrow)
      : Tensor(std::move(sizes), isNarrow, 0, 0) {}

  const std::vector<int64_t> &shape() const { return sizes; }
  int64_t numElements() const { return count; }
  float get(int64_t i) const;
  void set(int64_t i, float value);
  kernels::Buffer buffer() const;

private:
  std::vector<int64_t> sizes, strides;
  int64_t count = 1;
  bool isNarrow;
  Memory data;
};

/// The bits of a double, as attribute words hold it.
int64_t bitsOf(double value);

/// What a kernel is called with. Moving it keeps the buffers where they are.
struct KernelCase {
  const char *op;
  std::vector<Tensor> ins, outs;
  std::vector<int64_t> attrs;
  /// Where tokens stand in their documents, [b, l], and which input that is;
  /// none unless withDocuments.
  std::vector<int64_t> places = {}, placesShape = {}, placesStrides = {};
  size_t placesAt = 0;

  /// Runs the kernel of that set once; null, or what it says. Null too means
  /// that outs are written.
  const char *run(kernels::KernelSet set = kernels::KernelSet::Fast) const;
};

/// C[m,n] = A[m,k] W[n,k]^T.
KernelCase matmulCase(bool isNarrow, int64_t m, int64_t n, int64_t k);
/// [1, length, channels], four taps, bias and SiLU.
KernelCase conv1dCase(bool isNarrow, int64_t length, int64_t channels);
/// [rows, width] with weight, and a gate that comes first.
KernelCase rmsNormCase(bool isNarrow, int64_t rows, int64_t width);

/// Each row of a kernel that takes places (conv1d, ssd, attention) becomes so
/// many documents of equal length, 1 or more, with a shorter one behind them
/// where they do not divide it.
KernelCase withDocuments(KernelCase kernel, int64_t documents);

struct SsdShape {
  int64_t length, heads, headSize = 64, groups = 1, stateSize = 128;
};
/// With D and dt_bias, without an initial state.
KernelCase ssdCase(bool isNarrow, SsdShape shape, int64_t chunk = 256);

struct AttentionShape {
  int64_t length, queryHeads, keyHeads, size;
  bool isCausal = true;
  /// How far apart tokens are in the whole sequence.
  int64_t apart = 1;
  int64_t batch = 1;
};
/// Scaled by 1 / sqrt(size).
KernelCase attentionCase(bool isNarrow, AttentionShape shape);

} // namespace cp::bench

#endif // CP_BENCHMARKS_KERNELCASE_H
