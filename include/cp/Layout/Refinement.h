//===- Refinement.h - Several meshes over the same ranks --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of a model may arrange the same ranks in different ways: an encoder as
// <"dp" = 2, "tp" = 4> and a language model as <"dp" = 4, "tp" = 2>. On the
// mesh whose axes are the common parts of both, every layout of either can be
// written down, and what lies between them is a change of layout like any
// other.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_REFINEMENT_H
#define CP_LAYOUT_REFINEMENT_H

#include "cp/Layout/Layout.h"

namespace cp {

/// The coarsest mesh of which each axis of several meshes is some neighbouring
/// axes. Of <"dp" = 2, "tp" = 4> and <"dp" = 4, "tp" = 2>:
///   mesh      <"dp" = 2, "tp/0" = 2, "tp/1" = 2>
///   parts[0]  dp: {0}      tp: {1, 2}
///   parts[1]  dp: {0, 1}   tp: {2}
struct Refinement {
  /// What it refines.
  std::vector<Mesh> meshes;
  /// An axis is named as in the first mesh, or, where it is a part of an axis
  /// there, as part 0 (the major one), 1, ... of that. Without axes of one
  /// rank.
  Mesh mesh;
  /// For each mesh and each of its axes, the axes here, major to minor; none
  /// for an axis of one rank.
  std::vector<std::vector<std::vector<int>>> parts;
};

/// The refinement of one mesh or more, each of which must pass check. Nothing
/// where there is none, and `error` says why:
///   refine_c1  meshes of unlike numbers of ranks
///   refine_c2  neighbours on two axes are so far apart that neither distance
///              divides the other, as on <"a" = 2, "b" = 3> and <"c" = 3, "d" =
///              2>, where they are 3 and 2 ranks apart
///   mesh_c1    a part's name is that of another axis
std::optional<Refinement> refine(const std::vector<Mesh> &meshes,
                                 std::string &error);

/// The same cuts of a dimension, given on mesh number `which`, by the axes of
/// the refinement: they put each element at the same place of the same rank.
/// Nothing, and `error` says why, for
///   refine_c3  a cut in zigzag order, of rows or documents, over an axis of
///              several parts: one part after the other does not make it
///   layout_c3  the unit of a striped cut that grows beyond 64 bits
std::optional<std::vector<Cut>> refine(const Refinement &refinement,
                                       size_t which,
                                       const std::vector<Cut> &cuts,
                                       std::string &error);

/// The same layout, given on mesh number `which`, on the refinement; errors as
/// above.
std::optional<Layout> refine(const Refinement &refinement, size_t which,
                             const Layout &layout, std::string &error);

} // namespace cp

#endif // CP_LAYOUT_REFINEMENT_H
