//===- Layout.cpp - What a layout says, and whether it fits ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Layout.h"
#include "cp/Layout/Saturating.h"

#include <numeric>

using namespace cp;

std::vector<Cut> cp::inContiguousOrder(std::vector<Cut> cuts) {
  for (Cut &cut : cuts)
    cut = {cut.axis};
  return cuts;
}

Cut cp::jointCut(const std::vector<Cut> &cuts) {
  if (cuts.size() != 1 && !isBySizes(cuts))
    return {};
  Cut cut = cuts.back();
  cut.axis = 0;
  return cut;
}

int64_t cp::numPositions(const Mesh &mesh, const std::vector<Cut> &cuts) {
  int64_t count = 1;
  for (const Cut &cut : cuts)
    count *= mesh.axes[cut.axis].size;
  return count;
}

bool cp::operator==(const Layout &a, const Layout &b) {
  return a.mesh == b.mesh && a.dims == b.dims && a.partial == b.partial;
}

/// Marks `axis` as used; `place` says by what.
static std::optional<std::string> claim(const Mesh &mesh, int axis,
                                        const std::string &place,
                                        std::vector<std::string> &users) {
  if (axis < 0 || size_t(axis) >= mesh.axes.size())
    return "layout_c1: " + place + " names axis " + std::to_string(axis) +
           ", expected one of the mesh's " + std::to_string(mesh.axes.size()) +
           "; add the axis to the mesh or name another";
  if (!users[axis].empty())
    return "layout_c2: axis \"" + mesh.axes[axis].name + "\" is used by " +
           users[axis] + " and by " + place +
           ", expected one use at most; remove one of them";
  users[axis] = place;
  return std::nullopt;
}

/// Documents lie in rows, of which cuts in front would leave pieces; and sizes
/// are those of what is left in the end.
static std::optional<std::string> checkCompany(const std::vector<Cut> &cuts,
                                               const std::string &place) {
  for (size_t i = 0; i < cuts.size(); ++i) {
    std::string begin = "layout_c8: " + place + ": expected the order " +
                        orderName(cuts[i].order);
    if (isBySizes(cuts[i]) && i + 1 < cuts.size())
      return begin + " in the last cut of its dimension, got it in number " +
             std::to_string(i) + " of " + std::to_string(cuts.size()) +
             "; list the sizes of the ranks on all axes there";
    if (isBySizes(cuts) && i + 1 < cuts.size() &&
        cuts[i].order != Order::Contiguous)
      return begin + " not in front of sizes, which say where elements are; "
                     "leave it out";
    if (isPerDocument(cuts[i]) && i > 0)
      return begin + " in the first cut of its dimension, got it in number " +
             std::to_string(i) +
             "; let the axis that cuts documents come first, or use another "
             "order";
    if (isPerDocument(cuts[0]) && i > 0 && cuts[i].order != Order::Contiguous)
      return "layout_c8: " + place +
             ": expected contiguous cuts behind the order " +
             orderName(cuts[0].order) + ", got " + orderName(cuts[i].order) +
             "; leave that out";
  }
  return std::nullopt;
}

/// "axis "a"" or "axes "a", "b"".
static std::string axesText(const Mesh &mesh, const std::vector<Cut> &cuts) {
  std::string text = cuts.size() == 1 ? "axis " : "axes ";
  for (const Cut &cut : cuts)
    text +=
        (&cut == cuts.data() ? "\"" : ", \"") + mesh.axes[cut.axis].name + "\"";
  return text;
}

/// That there is a size for each rank on the axes.
static std::optional<std::string>
checkNumberOfSizes(const Mesh &mesh, const std::vector<Cut> &cuts,
                   const std::string &place) {
  if (!isBySizes(cuts))
    return std::nullopt;
  int64_t ranks = numPositions(mesh, cuts);
  auto sizes = int64_t(cuts.back().sizes.size());
  if (sizes == ranks)
    return std::nullopt;
  return "layout_c9: " + place + ": expected a size for each of the " +
         std::to_string(ranks) + " ranks on " + axesText(mesh, cuts) +
         ", got " + std::to_string(sizes) +
         "; list one for each, 0 for a rank that holds nothing";
}

std::optional<std::string> cp::check(const Layout &layout) {
  if (std::optional<std::string> error = check(layout.mesh))
    return error;
  std::vector<std::string> users(layout.mesh.axes.size());
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    std::string place = "dimension " + std::to_string(dim);
    for (const Cut &cut : layout.dims[dim]) {
      if (auto error = claim(layout.mesh, cut.axis, place, users))
        return error;
      if (auto error = check(cut, place))
        return error;
    }
    if (auto error = checkCompany(layout.dims[dim], place))
      return error;
    if (auto error = checkNumberOfSizes(layout.mesh, layout.dims[dim], place))
      return error;
  }
  int previous = -1;
  for (int axis : layout.partial) {
    if (auto error = claim(layout.mesh, axis, "the partial axes", users))
      return error;
    if (axis < previous)
      return "layout_c6: the partial axes must ascend, got " +
             std::to_string(previous) + " before " + std::to_string(axis) +
             "; sort them";
    previous = axis;
  }
  return std::nullopt;
}

static std::string doesNotAddUp(const Mesh &mesh, const std::vector<Cut> &cuts,
                                size_t dim, int64_t size) {
  return "layout_c5: dimension " + std::to_string(dim) + ": expected " +
         std::to_string(size) + " as the sum of the sizes on " +
         axesText(mesh, cuts) + ", got " +
         std::to_string(sumOfSizes(cuts.back())) +
         "; let the sizes add up to that of the dimension";
}

static std::string doesNotDivide(const Mesh &mesh, const Cut &cut, size_t dim,
                                 int64_t size, int64_t left) {
  bool zigzag = cut.order == Order::Zigzag;
  std::string text = "layout_c5: dimension " + std::to_string(dim) +
                     " of size " + std::to_string(size);
  if (left != size)
    text += ", of which the major cuts leave " + std::to_string(left) + ",";
  text += " does not divide by ";
  if (zigzag)
    text += "2 x ";
  text += std::to_string(mesh.axes[cut.axis].size) + " (axis \"" +
          mesh.axes[cut.axis].name + "\", " + orderName(cut.order) + ")";
  if (cut.unit != 1)
    text += " x " + std::to_string(cut.unit) + " (unit)";
  text += "; pad the dimension to a multiple, or cut it over a smaller axis";
  return text + (zigzag ? " or contiguously" : "");
}

static std::optional<std::string> checkDim(const Layout &layout, size_t dim,
                                           int64_t size) {
  if (size < 0)
    return "layout_c5: dimension " + std::to_string(dim) +
           ": expected a size of at least 0, got " + std::to_string(size) +
           "; a layout needs a static shape";
  const std::vector<Cut> &cuts = layout.dims[dim];
  if (isBySizes(cuts))
    return sumOfSizes(cuts.back()) == size
               ? std::nullopt
               : std::optional(doesNotAddUp(layout.mesh, cuts, dim, size));
  int64_t left = size;
  for (const Cut &cut : cuts) {
    int64_t ranks = layout.mesh.axes[cut.axis].size;
    if (!divides(cut, ranks, left))
      return doesNotDivide(layout.mesh, cut, dim, size, left);
    left = roomOf(cut, ranks, left);
  }
  return std::nullopt;
}

std::optional<std::string> cp::check(const Layout &layout,
                                     const std::vector<int64_t> &shape) {
  if (std::optional<std::string> error = check(layout))
    return error;
  if (layout.dims.size() != shape.size())
    return "layout_c4: the layout has " + std::to_string(layout.dims.size()) +
           " dimensions, expected " + std::to_string(shape.size()) +
           " as in the tensor; write {} for a dimension that is not cut";
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (auto error = checkDim(layout, dim, shape[dim]))
      return error;
  return std::nullopt;
}

int64_t cp::paddedSize(const Mesh &mesh, const std::vector<Cut> &cuts,
                       int64_t size) {
  if (isBySizes(cuts))
    return std::max(size, sumOfSizes(cuts.back()));
  int64_t multiple = 1;
  // What the major cut divides must leave the others a multiple of theirs.
  for (size_t i = cuts.size(); i-- > 0;) {
    int64_t granule = granuleOf(cuts[i]);
    int64_t part =
        multiplySaturating(multiple / std::gcd(multiple, granule), granule);
    multiple = multiplySaturating(part, mesh.axes[cuts[i].axis].size);
  }
  int64_t rest = size % multiple;
  return rest == 0 ? size : addSaturating(size - rest, multiple);
}

std::vector<int64_t> cp::localShape(const Layout &layout,
                                    const std::vector<int64_t> &shape) {
  std::vector<int64_t> local = shape;
  for (size_t dim = 0; dim < local.size(); ++dim) {
    if (isBySizes(layout.dims[dim])) {
      local[dim] = largestSize(layout.dims[dim].back());
      continue;
    }
    local[dim] = paddedSize(layout.mesh, layout.dims[dim], shape[dim]);
    for (const Cut &cut : layout.dims[dim])
      local[dim] = roomOf(cut, layout.mesh.axes[cut.axis].size, local[dim]);
  }
  return local;
}

std::optional<int64_t>
cp::wholeSize(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t room) {
  if (isBySizes(cuts)) {
    if (largestSize(cuts.back()) != room)
      return std::nullopt;
    return sumOfSizes(cuts.back());
  }
  for (const Cut &cut : cuts)
    if (__builtin_mul_overflow(room, mesh.axes[cut.axis].size, &room))
      return std::nullopt;
  return room;
}

bool cp::isPerDocument(const Layout &layout) {
  return !(inRowOrder(layout) == layout);
}

Layout cp::inRowOrder(Layout layout) {
  for (std::vector<Cut> &cuts : layout.dims)
    for (Cut &cut : cuts)
      if (isPerDocument(cut))
        cut.order = Order::Contiguous;
  return layout;
}

bool cp::isCutOver(const Layout &layout, int axis) {
  for (const std::vector<Cut> &cuts : layout.dims)
    for (const Cut &cut : cuts)
      if (cut.axis == axis)
        return true;
  return false;
}
