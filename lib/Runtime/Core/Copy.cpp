//===- Copy.cpp - Strided blocks: copy, add, fill -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copy.h"

#include "BFloat16.h"
#include "CopyBytes.h"

#include <algorithm>
#include <cstring>

using namespace cp::runtime;
using cp::kernels::BFloat16;

namespace {

/// A buffer's dimension is two of a block: the runs, and the elements of each.
constexpr int maxBlockRank = 2 * maxRank;

/// A strided box. Strides are in bytes.
struct Block {
  char *dst;
  const char *src;
  int rank;
  std::array<int64_t, maxBlockRank> sizes, dstStrides, srcStrides;
  int64_t elementSize;
};

/// The innermost dimension of a block.
struct Row {
  char *dst;
  const char *src;
  int64_t length, dstStride, srcStride, elementSize;
  bool isContiguous() const {
    return dstStride == elementSize && srcStride == elementSize;
  }
};

} // namespace

/// Drops dimensions of size 1 and joins neighbours that are one run in both
/// the destination and the source.
static void collapse(Block &block) {
  int kept = 0;
  for (int dim = 0; dim < block.rank; ++dim) {
    int64_t size = block.sizes[dim];
    if (size == 1)
      continue;
    int64_t dst = block.dstStrides[dim], src = block.srcStrides[dim];
    bool joins = kept && block.dstStrides[kept - 1] == dst * size &&
                 block.srcStrides[kept - 1] == src * size;
    if (joins)
      size *= block.sizes[--kept];
    block.sizes[kept] = size;
    block.dstStrides[kept] = dst;
    block.srcStrides[kept++] = src;
  }
  block.rank = kept;
}

template <typename RowFn> static void forEachRow(Block block, RowFn fn) {
  for (int dim = 0; dim < block.rank; ++dim)
    if (block.sizes[dim] == 0)
      return;
  collapse(block);
  int inner = std::max(block.rank - 1, 0);
  Row row = {block.dst,         block.src,         1,
             block.elementSize, block.elementSize, block.elementSize};
  if (block.rank) {
    row.length = block.sizes[inner];
    row.dstStride = block.dstStrides[inner];
    row.srcStride = block.srcStrides[inner];
  }
  std::array<int64_t, maxBlockRank> index{};
  while (true) {
    fn(row);
    int dim = inner - 1;
    for (; dim >= 0; --dim) {
      row.dst += block.dstStrides[dim];
      row.src += block.srcStrides[dim];
      if (++index[dim] < block.sizes[dim])
        break;
      row.dst -= block.dstStrides[dim] * index[dim];
      row.src -= block.srcStrides[dim] * index[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// `Bytes` is a constant so that the copy of an element is one move.
template <size_t Bytes> static void copyElements(const Row &row) {
  for (int64_t i = 0; i < row.length; ++i)
    std::memcpy(row.dst + i * row.dstStride, row.src + i * row.srcStride,
                Bytes);
}

static void copyRow(const Row &row) {
  if (row.isContiguous())
    copyBytes(row.dst, row.src, size_t(row.length * row.elementSize));
  else if (row.elementSize == 2)
    copyElements<2>(row);
  else if (row.elementSize == 4)
    copyElements<4>(row);
  else
    copyElements<8>(row);
}

template <typename T> static void addRow(const Row &row) {
  if (row.isContiguous()) {
    T *dst = reinterpret_cast<T *>(row.dst);
    const T *src = reinterpret_cast<const T *>(row.src);
    for (int64_t i = 0; i < row.length; ++i)
      dst[i] += src[i];
    return;
  }
  for (int64_t i = 0; i < row.length; ++i)
    *reinterpret_cast<T *>(row.dst + i * row.dstStride) +=
        *reinterpret_cast<const T *>(row.src + i * row.srcStride);
}

static Block wholeBlock(const Buffer &dst, const Buffer &src) {
  Block block = {static_cast<char *>(dst.data),
                 static_cast<const char *>(src.data),
                 2 * dst.rank,
                 {},
                 {},
                 {},
                 int64_t(sizeOf(dst.dtype))};
  for (int dim = 0; dim < dst.rank; ++dim) {
    int runs = 2 * dim, elements = runs + 1;
    block.sizes[runs] = 1;
    block.sizes[elements] = dst.sizes[dim];
    block.dstStrides[elements] = dst.strides[dim] * block.elementSize;
    block.srcStrides[elements] = src.strides[dim] * block.elementSize;
  }
  return block;
}

static int64_t bytesOf(const Block &block) {
  int64_t bytes = block.elementSize;
  for (int dim = 0; dim < block.rank; ++dim)
    bytes *= block.sizes[dim];
  return bytes;
}

/// Runs `fn` on each row of the product of maps[next...]; returns the bytes.
template <typename RowFn>
static int64_t forEachMapped(const Block &block, const List<DimMap> &maps,
                             size_t next, RowFn fn) {
  if (next == maps.size()) {
    forEachRow(block, fn);
    return bytesOf(block);
  }
  int64_t bytes = 0;
  size_t runs = 2 * maps[next].dim, elements = runs + 1;
  int64_t dstStride = block.dstStrides[elements];
  int64_t srcStride = block.srcStrides[elements];
  for (const Segment &segment : maps[next].segments) {
    Block part = block;
    part.sizes[runs] = segment.count;
    part.dstStrides[runs] = segment.dstStep * dstStride;
    part.srcStrides[runs] = segment.srcStep * srcStride;
    part.sizes[elements] = segment.length;
    part.dst += segment.dst * dstStride;
    part.src += segment.src * srcStride;
    bytes += forEachMapped(part, maps, next + 1, fn);
  }
  return bytes;
}

int64_t cp::runtime::copyMapped(const Buffer &dst, const Buffer &src,
                                const List<DimMap> &maps) {
  return forEachMapped(wholeBlock(dst, src), maps, 0, copyRow);
}

int64_t cp::runtime::addMapped(const Buffer &dst, const Buffer &src,
                               const List<DimMap> &maps) {
  auto *add = dst.dtype == DType::F32 ? addRow<float> : addRow<double>;
  return forEachMapped(wholeBlock(dst, src), maps, 0, add);
}

int64_t cp::runtime::addWidened(float *sums, const Buffer &dst,
                                const Buffer &src, const List<DimMap> &maps,
                                bool isFirst) {
  auto add = [&](const Row &row) {
    for (int64_t i = 0; i < row.length; ++i) {
      BFloat16 value;
      std::memcpy(&value, row.src + i * row.srcStride, sizeof value);
      sums[i] = isFirst ? float(value) : sums[i] + value;
    }
    sums += row.length;
  };
  return forEachMapped(wholeBlock(dst, src), maps, 0, add);
}

void cp::runtime::storeRounded(const Buffer &dst, const float *sums,
                               const List<DimMap> &maps) {
  auto store = [&](const Row &row) {
    for (int64_t i = 0; i < row.length; ++i) {
      BFloat16 value(sums[i]);
      std::memcpy(row.dst + i * row.dstStride, &value, sizeof value);
    }
    sums += row.length;
  };
  forEachMapped(wholeBlock(dst, dst), maps, 0, store);
}

void cp::runtime::fill(const Buffer &dst, const void *element) {
  Block block = wholeBlock(dst, dst);
  block.src = static_cast<const char *>(element);
  block.srcStrides.fill(0);
  forEachRow(block, copyRow);
}

void cp::runtime::fillZeros(const Buffer &dst) {
  static constexpr int64_t zero = 0;
  fill(dst, &zero);
}

Contiguous::Contiguous(const Buffer &like, char *data)
    : view{data, like.dtype, like.rank, like.sizes, strides.data()} {
  int64_t stride = 1;
  for (int dim = like.rank - 1; dim >= 0; --dim) {
    strides[size_t(dim)] = stride;
    stride *= like.sizes[dim];
  }
}
