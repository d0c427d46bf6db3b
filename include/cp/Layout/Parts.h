//===- Parts.h - Where a rank's part lies in the whole ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_PARTS_H
#define CP_LAYOUT_PARTS_H

#include "cp/Layout/Layout.h"

namespace cp {

/// Walks the runs of one rank's part, dimension by dimension.
class PartWalker {
public:
  /// The layout must pass check(layout). What a part has room for beyond the
  /// whole is not walked over.
  PartWalker(const Layout &layout, const std::vector<int64_t> &whole,
             int64_t rank, int64_t elementSize)
      : whole(whole), part(localShape(layout, whole)),
        elementSize(elementSize) {
    for (size_t dim = 0; dim < whole.size(); ++dim)
      runs.push_back(runsOf(layout.mesh, layout.dims[dim], whole[dim], rank));
  }

  /// Calls copy(wholeOffset, partOffset, bytes) for each contiguous piece.
  template <typename CopyFn> void walk(CopyFn copy) {
    // However many rows without elements there are.
    for (size_t dim = 0; dim < whole.size(); ++dim)
      if (hasNone(dim))
        return;
    walkDim(0, 0, 0, copy);
  }

private:
  bool hasNone(size_t dim) const {
    for (const Run &run : runs[dim])
      if (run.size() > 0)
        return false;
    return true;
  }

  /// Whether the part has all of a dimension and nothing else. A part of as
  /// many elements may hold padding in their place.
  bool hasAll(size_t dim) const {
    return part[dim] == whole[dim] && runs[dim].size() == 1 &&
           runs[dim].front() == Run{0, 0, whole[dim]};
  }

  template <typename CopyFn>
  void walkDim(size_t dim, int64_t wholeIndex, int64_t partIndex, CopyFn copy) {
    if (dim == whole.size())
      return copy(wholeIndex * elementSize, partIndex * elementSize,
                  elementSize);
    int64_t inner = 1;
    for (size_t next = dim + 1; next < whole.size(); ++next)
      inner *= hasAll(next) ? whole[next] : 0;
    auto walkRun = [&](int64_t global, int64_t local, int64_t length) {
      int64_t to = wholeIndex * whole[dim] + global;
      int64_t from = partIndex * part[dim] + local;
      // The rest is whole, so the run is one piece.
      if (inner > 0)
        copy(to * inner * elementSize, from * inner * elementSize,
             length * inner * elementSize);
      else
        for (int64_t i = 0; i < length; ++i)
          walkDim(dim + 1, to + i, from + i, copy);
    };
    for (const Run &run : runs[dim])
      run.forEach(walkRun);
  }

  const std::vector<int64_t> whole, part;
  int64_t elementSize;
  std::vector<std::vector<Run>> runs;
};

} // namespace cp

#endif // CP_LAYOUT_PARTS_H
