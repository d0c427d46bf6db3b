//===- Warpgroup.h - Products of four warps ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second form of products of tiles, of sm_90a alone: "Asynchronous
// warpgroup-level matrix instructions" in PTX. Four warps multiply 64 rows at
// once, and read what they share of shared memory once, not once each. Of d
// (64 x columns) warp w has rows 16 w to 16 w + 15, as Tile.h says of one
// warp's fragment; of a the same, where it is in registers.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_WARPGROUP_H
#define CP_KERNELS_CUDA_WARPGROUP_H

#include "Tile.h"

namespace cp::kernels::cuda {

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool codeHasWarpgroups = true;
#else
constexpr bool codeHasWarpgroups = false;
#endif

/// The bytes that a multiprocessor of sm_90 has of shared memory, and those of
/// them that the system takes for each block.
constexpr unsigned sharedMemoryOfSm90 = 228 << 10, takenByBlock = 1 << 10;
template <typename Shared> constexpr bool fitsSm90(int blocks) {
  return (sizeof(Shared) + takenByBlock) * blocks <= sharedMemoryOfSm90;
}

/// Rows in shared memory as warpgroups read them and boxes come: side by side
/// panels of 64 columns, in each of which the 16-byte parts of a row are
/// exchanged by its number, as in Tile.
template <int Rows, int Columns> struct alignas(1024) PanelTile {
  static_assert(Rows % 8 == 0 && Columns % 64 == 0, "whole patterns");
  static constexpr int rows = Rows, columns = Columns, stride = 64;
  static constexpr int panel = Rows * 64;

  uint16_t elements[Rows * Columns];

  CP_DEVICE static int offset(int row, int column) {
    return column / 64 * panel + Tile<Rows, 64>::offset(row, column % 64);
  }
  CP_DEVICE static int rowOfPair(int pair) { return pair / 32 % Rows; }
  CP_DEVICE static int moved(int offset, int columns) {
    return (offset ^ columns % 64) + columns / 64 * panel;
  }
};

/// An operand in shared memory, 16 deep: where it starts, and the bytes from
/// one panel of 64 columns and from eight rows to the next ("Matrix descriptor"
/// in PTX, with its pattern of 128 bytes).
CP_DEVICE uint64_t operandAt(uint32_t address, int panelBytes) {
  constexpr uint64_t eightRows = 1024;
  return uint64_t(address >> 4 & 0x3fff) | uint64_t(panelBytes >> 4) << 16 |
         eightRows >> 4 << 32 | uint64_t(1) << 62;
}

#ifdef __CUDACC__
/// What has been computed of registers stays in front of here, and what will be
/// behind.
CP_DEVICE void pin(float &value) { asm volatile("" : "+f"(value)::"memory"); }
CP_DEVICE void pin(uint32_t &value) {
  asm volatile("" : "+r"(value)::"memory");
}
template <typename T, int Rows, int Columns>
CP_DEVICE void pin(T (&values)[Rows][Columns]) {
  CP_UNROLL
  for (int i = 0; i < Rows; ++i)
    CP_UNROLL
  for (int j = 0; j < Columns; ++j)
    pin(values[i][j]);
}
/// In front of products whose `registers`, each d and a of theirs that has been
/// written since, are this thread's; shared memory that it has written is there
/// behind `publish` and a barrier.
template <typename... Registers>
CP_DEVICE void beginProducts(Registers &...registers) {
  if constexpr (codeHasWarpgroups) {
    (pin(registers), ...);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
}
/// What this thread has written to shared memory is there for products.
CP_DEVICE void publish() {
  if constexpr (codeHasWarpgroups)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// The products that were started since the last call are a group, of which
/// `Groups` are on their way now.
template <int Groups> CP_DEVICE void commitProducts() {
  if constexpr (codeHasWarpgroups) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // This waits for nothing. Without it ptxas (13.0) waits for all of them
    // where shared memory is next touched.
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
  }
}
/// All but the `Groups` newest groups are done, among them the last one that
/// has any of `sums`, which may be read from here on.
template <int Groups, typename... Sums>
CP_DEVICE void waitProducts(Sums &...sums) {
  if constexpr (codeHasWarpgroups) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
    // Or they would be read in front of the wait.
    (pin(sums), ...);
  }
}

/// The same, behind what makes two numbers without a sign, as sums of
/// exponentials are, and what is no number of a card's arithmetic. ptxas (13.0)
/// puts a wait in front of what has no need of it, but not in front of a
/// branch; and no warp may wait in another place than the others of its group,
/// so the branch is to where nobody goes.
template <int Groups, typename Sums>
CP_DEVICE void waitProductsBehind(float first, float second, Sums &sums) {
  if constexpr (codeHasWarpgroups) {
    if ((__float_as_int(first) | __float_as_int(second)) < 0)
      __trap();
    waitProducts<Groups>(sums);
  }
}

// Of d's registers eight columns.
#define CP_EIGHT(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define CP_D64                                                                 \
  CP_EIGHT(0), CP_EIGHT(1), CP_EIGHT(2), CP_EIGHT(3), CP_EIGHT(4),             \
      CP_EIGHT(5), CP_EIGHT(6), CP_EIGHT(7)
#define CP_D128                                                                \
  CP_D64, CP_EIGHT(8), CP_EIGHT(9), CP_EIGHT(10), CP_EIGHT(11), CP_EIGHT(12),  \
      CP_EIGHT(13), CP_EIGHT(14), CP_EIGHT(15)
#define CP_NAMES64                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "    \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "     \
  "%30, %31"
#define CP_NAMES128                                                            \
  CP_NAMES64                                                                   \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "   \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "     \
  "%60, %61, %62, %63"

/// d = a b^T, of which `adds` says whether d is added to it. Rows of both are
/// 16 columns each.
CP_DEVICE void multiplyRows(float (&d)[8][4], uint64_t a, uint64_t b,
                            bool adds) {
  if constexpr (codeHasWarpgroups)
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " CP_NAMES64
        "}, %32, %33, adds, 1, 1, 0, 0;\n"
        "}"
        : CP_D64
        : "l"(a), "l"(b), "r"(int(adds))
        : "memory");
}
/// d += a b, of a in registers and 16 rows of b.
CP_DEVICE void addProduct(float (&d)[8][4], const uint32_t (&a)[4],
                          uint64_t b) {
  if constexpr (codeHasWarpgroups)
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.eq.u32 adds, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " CP_NAMES64
        "}, {%32, %33, %34, %35}, %36, adds, 1, 1, 1;\n"
        "}"
        : CP_D64
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
        : "memory");
}
CP_DEVICE void addProduct(float (&d)[16][4], const uint32_t (&a)[4],
                          uint64_t b) {
  if constexpr (codeHasWarpgroups)
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.eq.u32 adds, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " CP_NAMES128
        "}, {%64, %65, %66, %67}, %68, adds, 1, 1, 1;\n"
        "}"
        : CP_D128
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
        : "memory");
}
#undef CP_EIGHT
#undef CP_D64
#undef CP_D128
#undef CP_NAMES64
#undef CP_NAMES128
#else
template <typename... Registers> void beginProducts(Registers &...) {
  exec::beginProducts();
}
inline void publish() {}
template <int Groups> void commitProducts(int line = __builtin_LINE()) {
  exec::commitProducts(Groups, line);
}
template <int Groups, typename Sums>
void waitProducts(Sums &sums, int line = __builtin_LINE()) {
  exec::waitProducts(Groups, {&sums[0][0]}, line);
}
template <int Groups, typename Sums, typename Others>
void waitProducts(Sums &sums, Others &others, int line = __builtin_LINE()) {
  exec::waitProducts(Groups, {&sums[0][0], &others[0][0]}, line);
}
template <int Groups, typename Sums>
void waitProductsBehind(float, float, Sums &sums, int line = __builtin_LINE()) {
  waitProducts<Groups>(sums, line);
}
inline void multiplyRows(float (&d)[8][4], uint64_t a, uint64_t b, bool adds,
                         int line = __builtin_LINE()) {
  exec::multiplyRows(d, a, b, adds, line);
}
template <int Tiles>
void addProduct(float (&d)[Tiles][4], const uint32_t (&a)[4], uint64_t b,
                int line = __builtin_LINE()) {
  exec::addProduct(d[0], Tiles, a, b, line);
}
#endif

/// Of 64 of a tile's rows, from `row` on, which 8 divides, the 16 columns from
/// `column` on, which 16 divides.
template <typename Tile>
CP_DEVICE uint64_t columnsOf(const Tile &tile, int column, int row = 0) {
  return operandAt(sharedAddress(tile.elements + column / 64 * Tile::panel +
                                 row * 64 + column % 64),
                   0);
}
/// Of a tile's columns the 16 rows from `row` on, which 16 divides.
template <typename Tile> CP_DEVICE uint64_t rowsOf(const Tile &tile, int row) {
  return operandAt(sharedAddress(tile.elements + row * 64), Tile::rows * 128);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_WARPGROUP_H
