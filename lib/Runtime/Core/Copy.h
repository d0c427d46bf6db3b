//===- Copy.h - Strided blocks: copy, add, fill -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_COPY_H
#define CP_LIB_RUNTIME_COPY_H

#include "Descriptor.h"
#include "Runs.h"

#include <array>

namespace cp::runtime {

/// How one dimension of a destination is filled from a source.
struct DimMap {
  size_t dim;
  List<Segment> segments;
};

/// Copies the product of the mapped segments; the other dimensions are copied
/// whole and must be equal. Returns the bytes copied. The buffers have one type
/// and rank, and do not overlap.
int64_t copyMapped(const Buffer &dst, const Buffer &src,
                   const List<DimMap> &maps);
/// dst += src, for f32 and f64 only.
int64_t addMapped(const Buffer &dst, const Buffer &src,
                  const List<DimMap> &maps);
/// For bf16: sums[i] += src (or = src, when `isFirst`), where i counts the
/// elements in the order in which the maps visit them; the buffers' strides
/// change nothing about it. `sums` has room for all of them.
int64_t addWidened(float *sums, const Buffer &dst, const Buffer &src,
                   const List<DimMap> &maps, bool isFirst);
/// dst = sums, in the same order, rounded to bf16.
void storeRounded(const Buffer &dst, const float *sums,
                  const List<DimMap> &maps);
/// dst = src, of equal sizes.
inline int64_t copyWhole(const Buffer &dst, const Buffer &src) {
  return copyMapped(dst, src, {});
}
/// Every element becomes the one at `element`.
void fill(const Buffer &dst, const void *element);

/// Every element becomes zero.
void fillZeros(const Buffer &dst);

/// A row-major buffer over memory of the caller's.
class Contiguous {
public:
  /// Same type and sizes as `like`, which must outlive it.
  Contiguous(const Buffer &like, char *data);
  const Buffer &buffer() const { return view; }

private:
  std::array<int64_t, maxRank> strides;
  Buffer view;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_COPY_H
