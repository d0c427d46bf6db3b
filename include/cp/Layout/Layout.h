//===- Layout.h - Where the elements of a tensor live -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout says how a whole tensor is spread over a mesh: for each dimension
// the mesh axes that cut it, major to minor, each with its order and unit, and
// the axes over which the value is still a partial sum. Axes that are not named
// hold replicas. No LLVM header here: the runtime uses this library too.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_LAYOUT_H
#define CP_LAYOUT_LAYOUT_H

#include "cp/Layout/Cut.h"
#include "cp/Layout/Mesh.h"
#include "cp/Layout/Runs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// Over the same axes, in contiguous order and with units of 1.
std::vector<Cut> inContiguousOrder(std::vector<Cut> cuts);

/// The cuts by a group of ranks, seen as one axis (0): a single cut, and a
/// contiguous one for several, which all are contiguous, or one by their sizes.
Cut jointCut(const std::vector<Cut> &cuts);

/// The number of ranks on the axes of some cuts.
int64_t numPositions(const Mesh &mesh, const std::vector<Cut> &cuts);

struct Layout {
  Mesh mesh;
  /// Per dimension, major to minor.
  std::vector<std::vector<Cut>> dims;
  /// Axes over which the ranks' values have yet to be added; ascending.
  std::vector<int> partial;
};
bool operator==(const Layout &a, const Layout &b);

/// Nothing when the layout makes sense for any shape of its rank, else what is
/// wrong: the mesh's own error, or
///   layout_c1  an axis outside the mesh
///   layout_c2  an axis used twice, by two cuts, as partial twice, or by both
///   layout_c3  a unit below 1
///   layout_c6  partial axes that do not ascend
///   layout_c7  an order that is none of the enumeration
///   layout_c8  an order per document with a unit, behind another cut, or in
///              front of one that is not contiguous; the order of sizes in
///              front of another cut, or behind one that is not contiguous
///   layout_c9  sizes that are not one for each rank on the axes that cut the
///              dimension, or as check(Cut) has it
std::optional<std::string> check(const Layout &layout);

/// As above, and that every dimension divides evenly:
///   layout_c4  the number of dimensions is not the shape's
///   layout_c5  a size below 0, or one that does not divide: going through the
///              cuts from the major one, what is left must be a multiple of
///              R x unit (2R x unit for zigzag), and 1/R of it is left; or
///              which is not the sum of the sizes that a cut lists
/// On an axis of size 4, with unit u (striped is as contiguous):
///   size  contiguous, u = 1  zigzag, u = 1  contiguous, u = 2
///   0     good               good           good
///   4     good               layout_c5      layout_c5
///   8     good               good           good
///   12    good               layout_c5      layout_c5
///   14    layout_c5          layout_c5      layout_c5
std::optional<std::string> check(const Layout &layout,
                                 const std::vector<int64_t> &shape);

/// The least number of elements from `size` on that the cuts divide; the
/// largest int64_t where that does not fit. A tensor of another size lies as
/// one of this size would, without the elements behind its last: the numbers of
/// elements below, and runs, say where those are that there are, and each
/// rank's part has room for as many (localShape). For 10 elements:
///   {}                           10
///   {"a"}, 4 ranks               12
///   {"a" zigzag}, 4 ranks        16
///   {"a" striped : 3}, 2 ranks   12
///   {"a" zigzag, "b"}, 2 x 3     12
int64_t paddedSize(const Mesh &mesh, const std::vector<Cut> &cuts,
                   int64_t size);

/// The shape of a rank's part, of a layout that passes check(layout): the same
/// on each. Where cuts do not divide a dimension, of its paddedSize; where they
/// list sizes, with room for the largest.
/// For 16 x 12 on <"a" = 2, "b" = 4>:
///   [{}, {}]        16 x 12
///   [{"a"}, {}]     8 x 12
///   [{"a"}, {"b"}]  8 x 3
///   [{}, {"b"}]     16 x 3
///   [{"a", "b"}, {}]  2 x 12
///   [{}, {}] partial {"a"}  16 x 12
///   [{}, {"b" zigzag}]  16 x 4
///   [{"a" sizes [9, 7]}, {}]  9 x 12
std::vector<int64_t> localShape(const Layout &layout,
                                const std::vector<int64_t> &shape);

/// The size of a dimension of which a rank's part has this many elements:
/// the inverse of localShape. Nothing where that does not fit, or where there
/// is no such part.
///   {"a"}, 4 ranks, of 3                12
///   {"a" sizes [4, 0, 3]}, of 4         7
///   {"a" sizes [4, 0, 3]}, of 3         nothing
std::optional<int64_t> wholeSize(const Mesh &mesh, const std::vector<Cut> &cuts,
                                 int64_t room);

/// The global index along a dimension of size `size` of this rank's element
/// `local`, 0 <= local < its part; `cuts` as in Layout::dims. From `size` on
/// for one that is padding. What a major cut leaves is one string of elements,
/// its blocks in ascending order, and the next cut cuts that string. For size
/// 8:
///   rank                         0        1        2    3
///   {}, 2 ranks                  0 to 7   0 to 7
///   {"a"}, 2 ranks               0 1 2 3  4 5 6 7
///   {"a" zigzag}, 2 ranks        0 1 6 7  2 3 4 5
///   {"a" striped}, 2 ranks       0 2 4 6  1 3 5 7
///   {"a" striped : 2}, 2 ranks   0 1 4 5  2 3 6 7
///   {"a" zigzag, "b"}, 2 x 2     0 1      6 7      2 3  4 5
///   {"b" zigzag, "a"}, 2 x 2     0 1      2 3      6 7  4 5
///   {"a", "b" striped}, 2 x 2    0 2      1 3      4 6  5 7
///   {"a" sizes [6, 2]}, 2 ranks  0 to 5   6 7
///   {"a", "b" sizes [3, 1, 0, 4]}, 2 x 2  0 to 2  3  none  4 to 7
/// and for size 7, with a first element that is padding:
///   {"a" zigzag}, 2 ranks        0 1 6 7  2 3 4 5
int64_t globalIndex(const Mesh &mesh, const std::vector<Cut> &cuts,
                    int64_t size, int64_t rank, int64_t local);

/// Whether a dimension is cut in an order per document.
bool isPerDocument(const Layout &layout);
/// With such dimensions cut in contiguous order instead, as who knows nothing
/// of the documents has them.
///   [{"a" zigzag_per_document}, {"b" zigzag}]  [{"a"}, {"b" zigzag}]
///   [{"a" contiguous_per_document, "b"}]       [{"a", "b"}]
Layout inRowOrder(Layout layout);

/// Whether a dimension is cut over the axis.
bool isCutOver(const Layout &layout, int axis);

/// Where a global index of a dimension lives: the coordinate on each cut's axis
/// (in the order of the cuts) and the local index there.
struct Home {
  std::vector<int64_t> coordinates;
  int64_t local;
};
/// The inverse of globalIndex; 0 <= global < size. For size 8:
///   global                      0         2         5         7
///   {}                          () 0      () 2      () 5      () 7
///   {"a"}, 2 ranks              (0) 0     (0) 2     (1) 1     (1) 3
///   {"a" zigzag}, 2 ranks       (0) 0     (1) 0     (1) 3     (0) 3
///   {"a" striped : 2}, 2 ranks  (0) 0     (1) 0     (0) 3     (1) 3
///   {"a" zigzag, "b"}, 2 x 2    (0, 0) 0  (1, 0) 0  (1, 1) 1  (0, 1) 1
Home homeOf(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t size,
            int64_t global);

/// This rank's part of a dimension as maximal runs, in local order; none for
/// no elements. They ascend in the global numbering too. For size 8, each run
/// as global:local:length:
///   rank                        0                    1
///   {}, 2 ranks                 0:0:8                0:0:8
///   {"a"}, 2 ranks              0:0:4                4:0:4
///   {"a" zigzag}, 2 ranks       0:0:2, 6:2:2         2:0:4
///   {"a" striped : 2}, 2 ranks  0:0:2, 2 of step 4   2:0:2, 2 of step 4
/// and for size 5, whose parts have room for more:
///   {"a"}, 2 ranks              0:0:3                3:0:2
///   {"a" zigzag}, 2 ranks       0:0:2                2:0:3
std::vector<Run> runsOf(const Mesh &mesh, const std::vector<Cut> &cuts,
                        int64_t size, int64_t rank);

} // namespace cp

#endif // CP_LAYOUT_LAYOUT_H
