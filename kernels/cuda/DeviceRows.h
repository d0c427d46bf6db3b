//===- DeviceRows.h - A tensor as its rows ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_DEVICEROWS_H
#define CP_KERNELS_CUDA_DEVICEROWS_H

#include "Arguments.h"
#include "Device.h"

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

/// Of none, nothing.
template <typename T> DeviceRows<T> deviceRows(const Buffer *buffer) {
  DeviceRows<T> rows;
  if (!buffer)
    return rows;
  rows.data = static_cast<T *>(buffer->data);
  rows.step = buffer->strides[buffer->rank - 1];
  for (int i = 0; i + 1 < buffer->rank; ++i) {
    int64_t size = buffer->sizes[i], stride = buffer->strides[i];
    if (size == 1)
      continue;
    // The dimension before goes on where this one ends.
    if (rows.rank && rows.strides[rows.rank - 1] == size * stride) {
      rows.sizes[rows.rank - 1] *= size;
      rows.strides[rows.rank - 1] = stride;
      continue;
    }
    rows.sizes[rows.rank] = size;
    rows.strides[rows.rank++] = stride;
  }
  return rows;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_DEVICEROWS_H
