//===- MoveArguments.h - Decoded calls that move elements -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on elements of any type: their buffers as they came, checked. Each
// decode() returns null, or the message that says what does not fit.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_MOVEARGUMENTS_H
#define CP_KERNELS_CPU_MOVEARGUMENTS_H

#include "Kernels.h"

namespace cp::kernels {

struct CopyArgs {
  const Buffer *from = nullptr, *to = nullptr;

  /// Calls add(size, fromStride, toStride) for each dimension, the outermost
  /// first.
  template <typename Add> void forEachDim(Add add) const {
    for (int32_t i = 0; i < from->rank; ++i)
      add(from->sizes[i], from->strides[i], to->strides[i]);
  }
};
const char *decode(const Call &call, CopyArgs &args);

struct RepeatArgs : CopyArgs {
  int64_t dim = 0, times = 1, unit = 1;

  /// The same; dimension `dim` becomes three: runs, copies of a run, elements
  /// of a run. The source's stride over the copies is 0.
  template <typename Add> void forEachDim(Add add) const {
    for (int32_t i = 0; i < from->rank; ++i) {
      int64_t source = from->strides[i], target = to->strides[i];
      if (i != dim) {
        add(from->sizes[i], source, target);
        continue;
      }
      add(from->sizes[i] / unit, unit * source, times * unit * target);
      add(times, 0, unit * target);
      add(unit, source, target);
    }
  }
};
const char *decode(const Call &call, RepeatArgs &args);

/// Ids are i32 or i64; whether the table has them is not looked at.
struct EmbeddingArgs {
  const Buffer *ids = nullptr, *table = nullptr, *y = nullptr;
};
const char *decode(const Call &call, EmbeddingArgs &args);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_MOVEARGUMENTS_H
