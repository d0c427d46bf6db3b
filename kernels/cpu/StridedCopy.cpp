//===- StridedCopy.cpp - Copying between strided tensors ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <cstring>

namespace cp::kernels {

void StridedCopy::addDim(int64_t size, int64_t fromStride, int64_t toStride) {
  // A dimension that the new one continues without a gap grows instead, so
  // that a contiguous copy ends as one run.
  if (rank > 0 && from[rank - 1] == size * fromStride &&
      to[rank - 1] == size * toStride) {
    sizes[rank - 1] *= size;
    from[rank - 1] = fromStride;
    to[rank - 1] = toStride;
    return;
  }
  sizes[rank] = size;
  from[rank] = fromStride;
  to[rank] = toStride;
  ++rank;
}

template <typename Word>
static void copyElements(const char *src, char *dst, int64_t size,
                         int64_t fromStride, int64_t toStride) {
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(dst + i * toStride * int64_t(sizeof(Word)),
                src + i * fromStride * int64_t(sizeof(Word)), sizeof(Word));
}

static void copyRun(const StridedCopy &copy, const char *src, char *dst) {
  int32_t last = copy.rank - 1;
  int64_t size = copy.sizes[last];
  if (copy.from[last] == 1 && copy.to[last] == 1)
    std::memcpy(dst, src, static_cast<size_t>(size) * copy.elementBytes);
  else if (copy.elementBytes == 8)
    copyElements<uint64_t>(src, dst, size, copy.from[last], copy.to[last]);
  else if (copy.elementBytes == 4)
    copyElements<uint32_t>(src, dst, size, copy.from[last], copy.to[last]);
  else
    copyElements<uint16_t>(src, dst, size, copy.from[last], copy.to[last]);
}

static void copyDims(const StridedCopy &copy, int32_t dim, const char *src,
                     char *dst) {
  if (dim == copy.rank - 1)
    return copyRun(copy, src, dst);
  auto bytes = static_cast<int64_t>(copy.elementBytes);
  for (int64_t i = 0; i < copy.sizes[dim]; ++i)
    copyDims(copy, dim + 1, src + i * copy.from[dim] * bytes,
             dst + i * copy.to[dim] * bytes);
}

void StridedCopy::run(const void *src, void *dst) const {
  for (int32_t i = 0; i < rank; ++i)
    if (sizes[i] == 0)
      return;
  if (rank == 0)
    std::memcpy(dst, src, elementBytes);
  else
    copyDims(*this, 0, static_cast<const char *>(src),
             static_cast<char *>(dst));
}

} // namespace cp::kernels
