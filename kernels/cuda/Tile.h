//===- Tile.h - Blocks of bf16 for the matrix units -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of m16n8k16 as PTX has it ("Warp-level matrix instructions"), which
// every card from sm_80 on has. Of a fragment a lane holds, with q = lane / 4
// and r = lane % 4,
//   a (16 x 16)  rows q and q + 8, columns 2r, 2r + 1 and 8 further on
//   b (16 x 8)   rows 2r, 2r + 1 and 8 further on, column q
//   d (16 x 8)   rows q and q + 8, columns 2r, 2r + 1.
// So a d of two products side by side is, packed, a b of its transpose.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_TILE_H
#define CP_KERNELS_CUDA_TILE_H

#include "Device.h"

namespace cp::kernels::cuda {

/// Rows in shared memory. The 16-byte parts of a row are exchanged by its
/// number, so that the same part of eight rows lies in different banks.
template <int Rows, int Columns> struct alignas(2 * Columns) Tile {
  static_assert(Columns % 64 == 0, "parts are exchanged among eight");
  static constexpr int rows = Rows, columns = Columns, stride = Columns;

  uint16_t elements[Rows * Columns];

  CP_DEVICE static int offset(int row, int column) {
    return row * Columns + ((column / 8 ^ row % 8) * 8) + column % 8;
  }
  /// Of the two elements that are that pair of all in memory.
  CP_DEVICE static int rowOfPair(int pair) { return pair / (Columns / 2); }
  /// From what a lane has in a fragment at column 0 to the same at `columns`.
  CP_DEVICE static int moved(int offset, int columns) {
    return offset ^ columns;
  }
};

#ifdef __CUDACC__
CP_DEVICE uint32_t sharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}
/// Starts to copy 16 bytes to shared memory, of zeros where not `valid`.
CP_DEVICE void copy16(void *to, const void *from, bool valid) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)),
      "l"(from), "r"(valid ? 16 : 0)
      : "memory");
}
CP_DEVICE void copy4(float *to, const float *from, bool valid) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(sharedAddress(to)),
      "l"(from), "r"(valid ? 4 : 0)
      : "memory");
}
/// What was started since the last call is a group.
CP_DEVICE void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// All but the `Groups` newest groups of this thread have arrived.
template <int Groups> CP_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
CP_DEVICE void loadMatrices(uint32_t (&to)[4], const uint16_t *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(sharedAddress(row))
               : "memory");
}
CP_DEVICE void loadTransposed(uint32_t (&to)[4], const uint16_t *row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(sharedAddress(row))
      : "memory");
}
/// d += a b.
CP_DEVICE void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                        uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
inline uint32_t sharedAddress(const void *pointer) {
  return uint32_t(static_cast<const char *>(pointer) -
                  static_cast<const char *>(exec::shared()));
}
inline void copy16(void *to, const void *from, bool valid,
                   int line = __builtin_LINE()) {
  exec::copy(to, from, 16, valid, line);
}
inline void copy4(float *to, const float *from, bool valid,
                  int line = __builtin_LINE()) {
  exec::copy(to, from, 4, valid, line);
}
inline void commitCopies() { exec::commitCopies(); }
template <int Groups> void waitCopies() { exec::waitCopies(Groups); }
inline void loadMatrices(uint32_t (&to)[4], const uint16_t *row,
                         int line = __builtin_LINE()) {
  exec::loadMatrices(to, row, false, line);
}
inline void loadTransposed(uint32_t (&to)[4], const uint16_t *row,
                           int line = __builtin_LINE()) {
  exec::loadMatrices(to, row, true, line);
}
inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                     uint32_t b1, int line = __builtin_LINE()) {
  exec::multiply(d, a, b0, b1, line);
}
#endif

/// What a lane reads of the fragments of a tile, each of which begins at a row
/// and a column that 16 divides. A fragment of b is of two products side by
/// side: its first two registers are of columns 0 to 7, the others of 8 to 15.
template <typename Tile> class Fragments {
public:
  CP_DEVICE Fragments()
      : straight(Tile::offset(lane() % 16, lane() / 16 * 8)),
        crossed(
            Tile::offset(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2 * 8)) {}

  /// The same, of which no place in a tile is kept in registers.
  CP_DEVICE Fragments again() const {
    Fragments same = *this;
    same.straight = cuda::again(straight);
    same.crossed = cuda::again(crossed);
    return same;
  }

  /// a = the tile's block.
  CP_DEVICE void loadA(uint32_t (&a)[4], const Tile &tile, int row,
                       int column) const {
    loadMatrices(a, at(tile, straight, row, column));
  }
  /// a = the block's transpose.
  CP_DEVICE void loadATransposed(uint32_t (&a)[4], const Tile &tile, int row,
                                 int column) const {
    loadTransposed(a, at(tile, crossed, row, column));
  }
  /// b = the block.
  CP_DEVICE void loadB(uint32_t (&b)[4], const Tile &tile, int row,
                       int column) const {
    loadTransposed(b, at(tile, straight, row, column));
  }
  /// b = the block's transpose.
  CP_DEVICE void loadBTransposed(uint32_t (&b)[4], const Tile &tile, int row,
                                 int column) const {
    loadMatrices(b, at(tile, crossed, row, column));
  }

private:
  CP_DEVICE static const uint16_t *at(const Tile &tile, int lane, int row,
                                      int column) {
    // In this order: what all lanes have in common is added first.
    const uint16_t *first = tile.elements + row * Tile::stride;
    return first + Tile::moved(lane, column);
  }

  int straight, crossed;
};

/// A lane's pairs of a fragment d, in a row `row` further than q and columns
/// `column` further than 2r, both of which 8 divides.
template <typename Tile> class Pairs {
public:
  CP_DEVICE Pairs() : offset(Tile::offset(lane() / 4, lane() % 4 * 2)) {}

  CP_DEVICE uint32_t load(const Tile &tile, int row, int column) const {
    return sharedLoad(
        reinterpret_cast<const uint32_t *>(tile.elements + at(row, column)));
  }
  CP_DEVICE void store(Tile &tile, int row, int column, uint32_t pair) const {
    sharedStore(reinterpret_cast<uint32_t *>(tile.elements + at(row, column)),
                pair);
  }

private:
  CP_DEVICE int at(int row, int column) const {
    return Tile::moved(offset, column) + row * Tile::stride;
  }

  int offset;
};

/// Of d, of products side by side, the 16 columns from 16 k on, as a.
template <int Products>
CP_DEVICE void packAsA(const float (&d)[Products][4], int k, uint32_t (&a)[4]) {
  CP_UNROLL
  for (int j = 0; j < 4; ++j) {
    const float *pair = d[2 * k + j / 2] + j % 2 * 2;
    a[j] = packed(pair[0], pair[1]);
  }
}

/// Zeros for what is not finite of a row. Returns whether there was such.
template <typename Tile> CP_DEVICE bool cleanRow(Tile &tile, int row) {
  bool isSpoilt = false;
  CP_NO_UNROLL
  for (int i = 0; i < Tile::columns; ++i) {
    uint16_t *at = tile.elements + Tile::offset(row, i);
    if ((sharedLoad(at) & 0x7f80) != 0x7f80)
      continue;
    isSpoilt = true;
    sharedStore(at, uint16_t(0));
  }
  return isSpoilt;
}

/// What there is of a tile: so many rows of `width` elements. Row i starts
/// i * stride behind the first one, and its elements are `step` apart. `isFast`
/// says that they can be copied 16 bytes at a time.
struct TileExtent {
  int rows, width;
  int64_t stride, step;
  bool isFast;
};

/// Starts to fill a tile; zeros beyond the rows. Those that are not fast are
/// stored at once. `Threads` threads do it, of which this one has number
/// `index`.
template <int Threads, typename Tile>
CP_DEVICE void fillTile(Tile &tile, int index, const BFloat16 *from,
                        const TileExtent &extent) {
  if (!extent.isFast) {
    CP_NO_UNROLL
    for (int i = index; i < Tile::rows * Tile::columns; i += Threads) {
      int row = i / Tile::columns, column = i % Tile::columns;
      bool valid = row < extent.rows && column < extent.width;
      int64_t at = row * extent.stride + column * extent.step;
      sharedStore(tile.elements + Tile::offset(row, column),
                  valid ? from[at].bits : uint16_t(0));
    }
    return;
  }
  constexpr int parts = Tile::columns / 8;
  constexpr int step = Threads / parts;
  static_assert((step % 8 == 0 || step == 4) && Tile::rows % step == 0,
                "a thread keeps its column");
  int column = index % parts * 8, row = index / parts;
  const int first = Tile::offset(row, column);
  // Of a thread's rows the number modulo eight is one, or, four rows on, that
  // with another bit.
  auto to = [&](int i) {
    constexpr int others = step % 8 ? 4 : 0;
    return tile.elements + (first ^ (i & others) * 8) + i * Tile::stride;
  };
  const BFloat16 *at = from + row * extent.stride + column;
  if (extent.rows == Tile::rows && extent.width == Tile::columns) {
    CP_UNROLL
    for (int i = 0; i < Tile::rows; i += step) {
      copy16(to(i), at, true);
      at += step * extent.stride;
    }
    return;
  }
  int rows = column < extent.width ? extent.rows : 0;
  CP_NO_UNROLL
  for (int i = 0; i < Tile::rows; i += step) {
    bool valid = row + i < rows;
    copy16(to(i), valid ? at : from, valid);
    at += step * extent.stride;
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_TILE_H
