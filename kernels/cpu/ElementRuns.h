//===- ElementRuns.h - Several tensors, run by run --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_ELEMENTRUNS_H
#define CP_KERNELS_CPU_ELEMENTRUNS_H

#include "Kernels.h"

#ifdef __CUDACC__
#define CP_ANYWHERE __host__ __device__
#else
#define CP_ANYWHERE
#endif

namespace cp::kernels {

/// The elements of tensors that have the same sizes, for what works on each
/// element alone: runs of elements that follow each other in all of them, each
/// tensor with a stride of its own. Tensors that are dense are one run.
class ElementRuns {
public:
  static constexpr int maxTensors = 8;

  /// The first tensor's sizes are those of all; at most maxTensors.
  void add(const Buffer &buffer);
  /// To be called when all are added.
  void finish();

  /// How many runs there are, and the elements of each.
  CP_ANYWHERE int64_t count() const { return numRuns; }
  CP_ANYWHERE int64_t length() const { return runLength; }
  /// In elements, within a run.
  CP_ANYWHERE int64_t stride(int tensor) const { return strides[tensor][rank]; }
  /// In elements, of the start of a run. Inlined as View::at is.
  [[gnu::always_inline]] CP_ANYWHERE int64_t offset(int tensor,
                                                    int64_t run) const {
    int64_t at = 0;
    for (int dim = rank - 1; dim >= 0; --dim) {
      at += run % sizes[dim] * strides[tensor][dim];
      run /= sizes[dim];
    }
    return at;
  }
  /// Whether all tensors are dense within a run.
  bool isDense() const;

private:
  static constexpr int maxDims = 8;

  bool continues(int dim) const;

  int numTensors = 0;
  /// Of the dimensions outside a run; the run is the one behind them.
  int rank = 0;
  int64_t sizes[maxDims + 1] = {};
  /// Zeros of tensors that were not added.
  int64_t strides[maxTensors][maxDims + 1] = {};
  int64_t numRuns = 1, runLength = 1;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ELEMENTRUNS_H
