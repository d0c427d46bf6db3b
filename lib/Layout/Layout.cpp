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
  if (cuts.size() != 1)
    return {};
  Cut cut = cuts.front();
  cut.axis = 0;
  return cut;
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

/// Documents lie in rows, of which cuts in front would leave pieces; and of
/// parts of unlike sizes cuts would leave other pieces on each rank.
static std::optional<std::string> checkCompany(const std::vector<Cut> &cuts,
                                               const std::string &place) {
  for (size_t i = 0; i < cuts.size(); ++i) {
    std::string begin = "layout_c8: " + place + ": expected the order " +
                        orderName(cuts[i].order);
    if (isBySizes(cuts[i]) && cuts.size() > 1)
      return begin + " alone in its dimension, got " +
             std::to_string(cuts.size()) +
             " cuts; cut this dimension over one axis, and others over others";
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

/// That there is a size for each rank on the axis.
static std::optional<std::string>
checkNumberOfSizes(const Mesh &mesh, const Cut &cut, const std::string &place) {
  int64_t ranks = mesh.axes[cut.axis].size;
  if (!isBySizes(cut) || int64_t(cut.sizes.size()) == ranks)
    return std::nullopt;
  return "layout_c9: " + place + ": expected a size for each of the " +
         std::to_string(ranks) + " ranks on axis \"" +
         mesh.axes[cut.axis].name + "\", got " +
         std::to_string(cut.sizes.size()) +
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
      if (auto error = checkNumberOfSizes(layout.mesh, cut, place))
        return error;
    }
    if (auto error = checkCompany(layout.dims[dim], place))
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

static std::string doesNotDivide(const Mesh &mesh, const Cut &cut, size_t dim,
                                 int64_t size, int64_t left) {
  if (isBySizes(cut))
    return "layout_c5: dimension " + std::to_string(dim) + ": expected " +
           std::to_string(size) + " as the sum of the sizes on axis \"" +
           mesh.axes[cut.axis].name + "\", got " +
           std::to_string(sumOfSizes(cut)) +
           "; let the sizes add up to that of the dimension";
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
  int64_t left = size;
  for (const Cut &cut : layout.dims[dim]) {
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
    return std::max(size, sumOfSizes(cuts.front()));
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
    local[dim] = paddedSize(layout.mesh, layout.dims[dim], shape[dim]);
    for (const Cut &cut : layout.dims[dim])
      local[dim] = roomOf(cut, layout.mesh.axes[cut.axis].size, local[dim]);
  }
  return local;
}

std::optional<int64_t>
cp::wholeSize(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t room) {
  if (isBySizes(cuts)) {
    int64_t ranks = mesh.axes[cuts.front().axis].size;
    if (roomOf(cuts.front(), ranks, 0) != room)
      return std::nullopt;
    return sumOfSizes(cuts.front());
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
