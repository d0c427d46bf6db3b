//===- Mesh.h - Ranks arranged on named axes --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_MESH_H
#define CP_LAYOUT_MESH_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cp {

/// Named axes, major first: the last axis varies fastest with the rank.
///
/// The tables below are those of <"a" = 2, "b" = 3>. Ranks must lie in
/// [0, numRanks()), axes in [0, axes.size()), the mesh must pass check; nothing
/// else is asked, and nothing is checked again.
struct Mesh {
  struct Axis {
    std::string name;
    int64_t size;
  };
  std::vector<Axis> axes;

  /// The product of the sizes; 1 without axes.
  ///   <>               1
  ///   <"a" = 2>        2
  ///   <"a" = 2, "b" = 3>  6
  int64_t numRanks() const;

  /// The position of the named axis, or -1.
  ///   "a"  0
  ///   "b"  1
  ///   "c"  -1
  int findAxis(std::string_view name) const;

  /// The position of `rank` on one axis.
  ///   rank    0  1  2  3  4  5
  ///   axis 0  0  0  0  1  1  1
  ///   axis 1  0  1  2  0  1  2
  int64_t coordinate(int64_t rank, int axis) const;

  /// One coordinate per axis, in the order of the axes.
  ///   0  (0, 0)
  ///   2  (0, 2)
  ///   3  (1, 0)
  ///   5  (1, 2)
  std::vector<int64_t> coordinates(int64_t rank) const;

  /// The inverse of coordinates: one entry per axis, each below its size.
  int64_t rankOf(const std::vector<int64_t> &coordinates) const;

  /// The ranks that differ from `rank` at most in `axes` (distinct), ordered by
  /// the mixed-radix number of their coordinates there (axes[0] major).
  ///   rank 4, {}      4
  ///   rank 4, {a}     1 4
  ///   rank 4, {b}     3 4 5
  ///   rank 4, {a, b}  0 1 2 3 4 5
  ///   rank 4, {b, a}  0 3 1 4 2 5
  std::vector<int64_t> group(int64_t rank, const std::vector<int> &axes) const;

  /// The position of `rank` in group(rank, axes).
  ///   rank 4, {}      0
  ///   rank 4, {a}     1
  ///   rank 4, {b}     1
  ///   rank 4, {a, b}  4
  ///   rank 4, {b, a}  3
  int64_t positionInGroup(int64_t rank, const std::vector<int> &axes) const;

  /// The number of ranks in a group along `axes`; 1 for none.
  ///   {}      1
  ///   {b}     3
  ///   {a, b}  6
  int64_t groupSize(const std::vector<int> &axes) const;
};
bool operator==(const Mesh &a, const Mesh &b);

/// Nothing when the mesh makes sense, else what is wrong:
///   mesh_c1  an empty or doubled name
///   mesh_c2  a size below 1
///   mesh_c3  more than 2^31 ranks in all
///   mesh_c4  more than 64 axes
std::optional<std::string> check(const Mesh &mesh);

/// As pass options have it.
///   <"a" = 2, "b" = 3>  "a=2,b=3"
std::string meshText(const Mesh &mesh);

} // namespace cp

#endif // CP_LAYOUT_MESH_H
