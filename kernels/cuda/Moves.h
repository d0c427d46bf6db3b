//===- Moves.h - Elements that go elsewhere ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_MOVES_H
#define CP_KERNELS_CUDA_MOVES_H

#include "Launch.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

/// A strided box of units of `Unit` on two sides, in units; the last dimension
/// moves fastest.
struct MoveShape {
  static constexpr int maxDims = 16;
  int rank = 0;
  int64_t sizes[maxDims], from[maxDims], to[maxDims];

  int64_t count() const {
    int64_t units = 1;
    for (int i = 0; i < rank; ++i)
      units *= sizes[i];
    return units;
  }
  /// Adds a dimension inside the others, joined with the last one where both
  /// sides go on there; one of size 1 is none.
  void add(int64_t size, int64_t fromStride, int64_t toStride) {
    if (size == 1)
      return;
    bool joins = rank && from[rank - 1] == size * fromStride &&
                 to[rank - 1] == size * toStride;
    int i = joins ? rank - 1 : rank++;
    sizes[i] = joins ? sizes[i] * size : size;
    from[i] = fromStride;
    to[i] = toStride;
  }
  /// Where a unit is on both sides.
  CP_DEVICE void find(int64_t unit, int64_t &source, int64_t &target) const {
    source = target = 0;
    for (int i = rank - 1; i >= 0; --i) {
      int64_t at = unit % sizes[i];
      unit /= sizes[i];
      source += at * from[i];
      target += at * to[i];
    }
  }
};

/// A thread a unit; `Index` holds the number of all of them.
template <typename Unit, typename Index> struct MoveUnits {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  MoveShape shape;
  Index count;
  const Unit *from;
  Unit *to;

  CP_DEVICE void operator()() const {
    Index unit = Index(blockX()) * threads + Index(thread());
    if (unit >= count)
      return;
    int64_t source = 0, target = 0;
    CP_UNROLL
    for (int i = MoveShape::maxDims - 1; i >= 0; --i) {
      if (i >= shape.rank)
        continue;
      auto size = Index(shape.sizes[i]);
      auto at = int64_t(unit % size);
      unit /= size;
      source += at * shape.from[i];
      target += at * shape.to[i];
    }
    to[target] = from[source];
  }
};

/// Rows of a table by their ids, in units of `Unit`. Rows of ids that the table
/// has not are zeros, and the first that is found is noted.
template <typename Unit, typename Id> struct GatherRows {
  static constexpr int threads = 256, blocks = 1;
  using Shared = Nothing;

  int64_t rows, width, tableRows;
  const Id *ids;
  MoveShape idShape; // `from` of ids, `to` of y
  const Unit *table;
  int64_t tableStride, tableStep;
  Unit *y;
  int64_t yStep;
  int64_t *fault;

  CP_DEVICE void operator()() const {
    int64_t unit = int64_t(blockX()) * threads + thread();
    if (unit >= rows * width)
      return;
    int64_t row = unit / width, column = unit % width, source, target;
    idShape.find(row, source, target);
    int64_t id = ids[source];
    bool isThere = id >= 0 && id < tableRows;
    if (!isThere && column == 0)
      noteFault(fault, Fault::Id, row, id);
    Unit value = {};
    if (isThere)
      value = table[id * tableStride + column * tableStep];
    y[target + column * yStep] = value;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_MOVES_H
