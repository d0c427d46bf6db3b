//===- StridedCopy.h - Copying between strided tensors ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_STRIDEDCOPY_H
#define CP_KERNELS_CPU_STRIDEDCOPY_H

#include <cstddef>
#include <cstdint>

namespace cp::kernels {

/// Element-wise dst = src over `sizes`, each side with its own strides (in
/// elements of `elementBytes` bytes: 2, 4 or 8). Rank at most 16; the two may
/// not overlap.
struct StridedCopy {
  static constexpr int32_t maxDims = 16;
  size_t elementBytes;
  int32_t rank = 0;
  int64_t sizes[maxDims];
  int64_t from[maxDims];
  int64_t to[maxDims];

  void addDim(int64_t size, int64_t fromStride, int64_t toStride);
  void run(const void *src, void *dst) const;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_STRIDEDCOPY_H
