//===- fast/Matmul.h - Fast matrix product ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The loop nest of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008), turned so that the panel of W stays in the first
// cache while a block of A streams from the second.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_MATMUL_H
#define CP_KERNELS_CPU_FAST_MATMUL_H

#include "Arguments.h"
#include "MatmulBlocks.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/Product.h"

#include <type_traits>

namespace cp::kernels::fast {

/// A and W are packed as `Packed`: the type that sums, or Pair, for processors
/// that multiply bf16 (Isa::dot).
template <typename Isa, typename T, typename Packed = AccumulatorOf<T>>
class Matmul {
public:
  static const char *run(const Call &call) {
    MatmulArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    if constexpr (isPaired)
      if (!liesInPairs(args))
        return Matmul<Isa, T>::compute(args);
    return compute(args);
  }

  static const char *compute(const MatmulArgs<T> &args) {
    MatmulBlocks blocks(args.m, args.n, blockRows, sumsInPlace ? args.n : 1024,
                        P::columns);
    return share(blocks.count(), args.m * args.n * args.k,
                 [&](Items &items) -> const char * {
                   Matmul matmul(args, blocks);
                   if (!matmul.allocate())
                     return outOfMemory("matmul");
                   for (int64_t i; items.take(i);)
                     matmul.outputBlock(blocks[i]);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using P = Product<Isa, Acc, Packed>;
  static constexpr bool isPaired = std::is_same_v<Packed, Pair>;
  /// What is packed one by one, `perSource` elements of T.
  using Source = std::conditional_t<isPaired, Pair, T>;
  using Packer = Pack<Isa, Source, Packed>;
  static constexpr int64_t perSource = isPaired ? 2 : 1;
  /// Whether C itself holds the sums while k runs. Otherwise they are kept
  /// aside, and rounded once.
  static constexpr bool sumsInPlace = std::is_same_v<T, Acc>;
  /// Rows of A that lie side by side in memory.
  static constexpr int64_t group = V::lanes > P::rows ? V::lanes : P::rows;
  static_assert(group % P::rows == 0);
  static constexpr int64_t depth = 2048 / sizeof(Packed) * 3 / 4;
  static constexpr int64_t blockRows = 512;

  /// Whether k lies without gaps, in an even number of elements, from places
  /// that are a number of pairs apart.
  static bool liesInPairs(const MatmulArgs<T> &args) {
    return args.k % 2 == 0 && args.a.stride == 1 && args.w.strides[0] == 1 &&
           args.w.strides[1] % 2 == 0;
  }
  int64_t aStride() const { return isPaired ? 1 : args.a.stride; }
  int64_t wStride() const { return isPaired ? 1 : args.w.strides[0]; }
  const Source *aAt(int64_t row, int64_t k) const {
    return reinterpret_cast<const Source *>(args.a.at(row, k * perSource));
  }
  const Source *wAt(int64_t k, int64_t n) const {
    return reinterpret_cast<const Source *>(args.w.at(k * perSource, n));
  }

  Matmul(const MatmulArgs<T> &args, const MatmulBlocks &blocks)
      : args(args), blockColumns(blocks.width) {}

  bool allocate() {
    size_t bytes = carved<Packed>(blockRows * depth) +
                   carved<Packed>(depth * P::columns) +
                   carved<Acc>(P::rows * P::columns) +
                   (sumsInPlace ? 0 : carved<Acc>(sumRows() * blockColumns));
    void *memory = scratch(Slot::Panels, bytes);
    if (!memory)
      return false;
    Carver carver(memory);
    block = carver.take<Packed>(blockRows * depth);
    panel = carver.take<Packed>(depth * P::columns);
    edge = carver.take<Acc>(P::rows * P::columns);
    sums = carver.take<Acc>(0);
    for (int64_t i = 0; i < P::rows; ++i) {
      edgeRows[i] = i * P::columns;
      sumsRows[i] = i * blockColumns;
    }
    return true;
  }

  int64_t sumRows() const { return least(blockRows, args.m); }

  void outputBlock(const MatmulBlock &of) {
    auto [row, count, column, width] = of;
    int64_t k = 0;
    do {
      int64_t kCount = least(depth, sources - k);
      packBlock(row, count, k, kCount);
      for (int64_t n = column; n < column + width; n += P::columns) {
        int64_t nCount = least(P::columns, column + width - n);
        Packer::transposed(
            {wAt(k, n), args.w.strides[1] / perSource, wStride()}, nCount,
            kCount, P::columns, panel, P::columns);
        for (int64_t i = 0; i < count; i += P::rows) {
          int64_t rows = least(P::rows, count - i);
          if constexpr (sumsInPlace)
            tile(row, i, rows, n, nCount, kCount, args.accumulate || k > 0);
          else
            tileAside(i, rows, n - column, kCount, k > 0);
        }
      }
      k += kCount;
    } while (k < sources);
    for (int64_t i = 0; i < count && !sumsInPlace; ++i)
      roundRow(sums + i * blockColumns, args.c.at(row + i, column), width);
  }

  /// Groups of `group` rows, each stored as [k][group].
  void packBlock(int64_t row, int64_t count, int64_t k, int64_t kCount) {
    for (int64_t i = 0; i < count; i += group) {
      int64_t rows = least(group, count - i);
      Packed *to = block + i * depth;
      int64_t stride = args.a.rows[row + i + (rows > 1)] - args.a.rows[row + i];
      if (stride % perSource == 0 && isUniform(row + i, rows, stride)) {
        Packer::transposed({aAt(row + i, k), stride / perSource, aStride()},
                           rows, kCount, group, to, group);
        continue;
      }
      for (int64_t j = 0; j < rows; ++j)
        Packer::transposed({aAt(row + i + j, k), 0, aStride()}, 1, kCount, 1,
                           to + j, group);
    }
  }

  bool isUniform(int64_t row, int64_t count, int64_t stride) const {
    for (int64_t i = 1; i < count; ++i)
      if (args.a.rows[row + i] - args.a.rows[row + i - 1] != stride)
        return false;
    return true;
  }

  /// The packed rows of A from row i of the block.
  const Packed *rowsAt(int64_t i) const {
    return block + i / group * group * depth + i % group;
  }

  /// Sums are padded to whole tiles, so there are no edges.
  void tileAside(int64_t i, int64_t count, int64_t column, int64_t kCount,
                 bool add) {
    P::tile({rowsAt(i), group, panel, P::columns,
             sums + i * blockColumns + column, sumsRows, add ? &one : nullptr},
            count, kCount);
  }

  void roundRow(const Acc *from, T *to, int64_t count) const {
    int64_t stride = args.c.stride;
    for (int64_t j = 0; j < count; ++j) {
      T *c = to + j * stride;
      *c = T(args.accumulate ? Acc(*c) + from[j] : from[j]);
    }
  }

  void tile(int64_t row, int64_t i, int64_t count, int64_t n, int64_t nCount,
            int64_t kCount, bool add) {
    const Packed *a = rowsAt(i);
    const Acc *factors = add ? &one : nullptr;
    if (nCount == P::columns && args.c.stride == 1)
      return P::tile({a, group, panel, P::columns, args.c.data + n,
                      args.c.rows + row + i, factors},
                     count, kCount);
    P::tile({a, group, panel, P::columns, edge, edgeRows}, count, kCount);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t j = 0; j < nCount; ++j) {
        T *c = args.c.at(row + i + r, n + j);
        *c = add ? *c + edge[r * P::columns + j] : edge[r * P::columns + j];
      }
    }
  }

  const MatmulArgs<T> &args;
  const int64_t blockColumns;
  /// k, in what is packed one by one.
  const int64_t sources = args.k / perSource;
  Packed *block, *panel;
  Acc *edge, *sums;
  int64_t edgeRows[P::rows], sumsRows[P::rows];
  Acc one = 1;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_MATMUL_H
