//===- ProgramLayout.h - How a program's tensors are cut --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_PROGRAMLAYOUT_H
#define CP_RUNTIME_PROGRAMLAYOUT_H

#include "cp/Layout/Parts.h"
#include "cp/Runtime/cprt_program.h"

#include <algorithm>
#include <optional>

namespace cp {

inline Mesh meshOf(const cprt_program &program) {
  Mesh mesh;
  for (int32_t axis = 0; axis < program.num_axes; ++axis)
    mesh.axes.push_back({program.axis_names[axis], program.axis_sizes[axis]});
  return mesh;
}

/// The layout that the table of a tensor says, with the axes of its terms as
/// `partial`; nothing for a table that is none.
inline std::optional<Layout> layoutOf(const cprt_program &program,
                                      const cprt_program_tensor &tensor) {
  Layout layout;
  layout.mesh = meshOf(program);
  layout.dims.resize(size_t(tensor.rank));
  for (int32_t i = 0; i < tensor.num_cuts; ++i) {
    const cprt_cut &each = tensor.cuts[i];
    if (each.axis < 0 || each.axis >= program.num_axes)
      return std::nullopt;
    if (each.dim == CPRT_CUT_TERMS) {
      layout.partial.push_back(each.axis);
      continue;
    }
    bool isBySizes = each.order == CPRT_CUT_SIZES;
    if (each.dim < 0 || each.dim >= tensor.rank ||
        (each.order < 0 && !isBySizes))
      return std::nullopt;
    std::vector<Cut> &cuts = layout.dims[size_t(each.dim)];
    // One for each rank, which are one cut.
    if (!isBySizes || cuts.empty() || cuts.back().axis != each.axis)
      cuts.push_back(cutOfWord(each.order, each.axis));
    if (!isBySizes)
      cuts.back().unit = each.unit;
    else
      cuts.back().sizes.push_back(each.unit);
  }
  if (check(layout))
    return std::nullopt;
  // What the cuts do not divide is padded.
  std::vector<int64_t> padded;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    padded.push_back(
        paddedSize(layout.mesh, layout.dims[size_t(dim)], tensor.sizes[dim]));
  if (check(layout, padded))
    return std::nullopt;
  // Callers have room for what the table says.
  std::vector<int64_t> local = localShape(layout, padded);
  if (!std::equal(local.begin(), local.end(), tensor.local_sizes))
    return std::nullopt;
  return layout;
}

} // namespace cp

#endif // CP_RUNTIME_PROGRAMLAYOUT_H
