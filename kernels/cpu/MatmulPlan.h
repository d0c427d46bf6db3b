//===- MatmulPlan.h - How a matrix product is cut ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_MATMULPLAN_H
#define CP_KERNELS_CPU_MATMULPLAN_H

#include <cstdint>

namespace cp::kernels {

/// The sizes of a product [m, k] x [k, n] and of its register tiles.
struct MatmulShape {
  int64_t m, n, k;
  /// Bytes of what is packed one by one; k counts these.
  int64_t bytes;
  /// Rows of A that are packed side by side, and columns of a tile.
  int64_t group, columns;
  /// Whether sums are kept aside until k has run.
  bool sumsAside;
};

/// A is packed once, in blocks that the third cache holds. A panel of W stays
/// in the second cache while a block streams by. How k is cut depends on k
/// alone, so that a row's result does not depend on the others.
struct MatmulPlan {
  explicit MatmulPlan(const MatmulShape &shape);

  /// Rows of A that are packed at a time, a multiple of the group, and how much
  /// of k: all of it where sums are kept aside, since there is room for those
  /// of a few panels only.
  int64_t rows, blockDepth;
  /// Whether each thread multiplies blocks of its own: what one core has packed
  /// is slow to reach the others. Otherwise all threads work on one block.
  bool hasOwnBlocks;
  /// As much of k as a panel holds.
  int64_t depth;
  /// The most columns of a panel, a multiple of those of a tile.
  int64_t columns;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_MATMULPLAN_H
