//===- Refinement.cpp - Several meshes over the same ranks ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Refinement.h"

#include "cp/Layout/Saturating.h"

#include <algorithm>

using namespace cp;

namespace {

/// An axis of several ranks. Neighbours on it are `stride` ranks apart, and it
/// spans all ranks up to `end`.
struct Span {
  const Mesh *mesh;
  size_t axis;
  int64_t stride, end;

  const std::string &name() const { return mesh->axes[axis].name; }
};

} // namespace

/// Minor first.
static std::vector<Span> spansOf(const Mesh &mesh) {
  std::vector<Span> spans;
  int64_t stride = 1;
  for (size_t axis = mesh.axes.size(); axis-- > 0;) {
    int64_t end = stride * mesh.axes[axis].size;
    if (end != stride)
      spans.push_back({&mesh, axis, stride, end});
    stride = end;
  }
  return spans;
}

static std::string unlikeRanks(const Mesh &a, const Mesh &b) {
  return "refine_c1: expected meshes of as many ranks, but '" + meshText(a) +
         "' has " + std::to_string(a.numRanks()) + " and '" + meshText(b) +
         "' has " + std::to_string(b.numRanks()) +
         "; both must arrange the same ranks, so size one as the other. (Parts "
         "of a model on ranks of their own are programs of their own, between "
         "which a caller moves tensors.)";
}

static std::string noCommonParts(const Span &a, const Span &b) {
  auto of = [](const Span &span) {
    return "\"" + span.name() + "\" of '" + meshText(*span.mesh) + "' are " +
           std::to_string(span.stride) + " ranks apart";
  };
  return "refine_c2: neighbours on axis " + of(a) + " and on axis " + of(b) +
         ", and neither divides the other; order or size the axes so that one "
         "does";
}

/// The distances at which an axis of any mesh begins, each with the first such
/// axis; ascending.
static std::vector<Span> beginnings(const std::vector<Mesh> &meshes) {
  std::vector<Span> all;
  for (const Mesh &mesh : meshes)
    for (const Span &span : spansOf(mesh))
      all.push_back(span);
  auto isNearer = [](const Span &a, const Span &b) {
    return a.stride < b.stride;
  };
  std::stable_sort(all.begin(), all.end(), isNearer);
  auto isSame = [](const Span &a, const Span &b) {
    return a.stride == b.stride;
  };
  all.erase(std::unique(all.begin(), all.end(), isSame), all.end());
  return all;
}

/// The axes of the refinement that make up a span: those that begin within.
static std::vector<int> partsOf(const Span &span,
                                const std::vector<Span> &begins) {
  std::vector<int> parts;
  for (size_t i = 0; i < begins.size(); ++i)
    if (begins[i].stride >= span.stride && begins[i].stride < span.end)
      parts.push_back(int(begins.size() - 1 - i));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

/// What is wrong with the meshes together; `begins` are theirs.
static std::optional<std::string> whatDiffers(const std::vector<Mesh> &meshes,
                                              const std::vector<Span> &begins) {
  for (const Mesh &mesh : meshes)
    if (mesh.numRanks() != meshes.front().numRanks())
      return unlikeRanks(meshes.front(), mesh);
  for (size_t i = 1; i < begins.size(); ++i)
    if (begins[i].stride % begins[i - 1].stride != 0)
      return noCommonParts(begins[i], begins[i - 1]);
  return std::nullopt;
}

/// Axes that begin so, as parts of the first mesh's.
static std::vector<Mesh::Axis>
namedAxes(const Mesh &first, const std::vector<std::vector<int>> &parts,
          const std::vector<Span> &begins) {
  std::vector<Mesh::Axis> axes(begins.size());
  int64_t end = first.numRanks();
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t stride = begins[begins.size() - 1 - i].stride;
    axes[i].size = end / stride;
    end = stride;
  }
  for (size_t axis = 0; axis < parts.size(); ++axis)
    for (size_t i = 0; i < parts[axis].size(); ++i)
      axes[parts[axis][i]].name =
          first.axes[axis].name +
          (parts[axis].size() == 1 ? "" : "/" + std::to_string(i));
  return axes;
}

std::optional<Refinement> cp::refine(const std::vector<Mesh> &meshes,
                                     std::string &error) {
  std::vector<Span> begins = beginnings(meshes);
  std::optional<std::string> wrong = whatDiffers(meshes, begins);
  Refinement result{meshes, {}, {}};
  if (!wrong) {
    for (const Mesh &mesh : meshes) {
      auto &parts = result.parts.emplace_back(mesh.axes.size());
      for (const Span &span : spansOf(mesh))
        parts[span.axis] = partsOf(span, begins);
    }
    result.mesh.axes = namedAxes(meshes.front(), result.parts.front(), begins);
    wrong = check(result.mesh);
    if (wrong)
      wrong = *wrong + " (parts of an axis are named after it, \"" +
              meshes.front().axes.front().name + "/0\" and so on)";
  }
  if (!wrong)
    return result;
  error = *wrong;
  return std::nullopt;
}

static std::string splitsOrder(const Refinement &refinement, size_t which,
                               const Cut &cut) {
  const Mesh &mesh = refinement.meshes[which];
  return std::string("refine_c3: a ") + orderName(cut.order) +
         " cut over axis \"" + mesh.axes[cut.axis].name + "\" of '" +
         meshText(mesh) + "', which is " +
         std::to_string(refinement.parts[which][cut.axis].size()) +
         " axes of '" + meshText(refinement.mesh) +
         "' on the same ranks, cannot be made by one after the other; cut "
         "contiguously, or let no axis of the other meshes end within this "
         "one";
}

/// Appends a cut by sizes, which the last of the axes has.
static void appendSizes(const std::vector<int> &parts, const Cut &cut,
                        std::vector<Cut> &result) {
  for (int part : parts)
    result.push_back({part});
  // All axes of one rank: it has everything.
  if (result.empty())
    return;
  result.back().order = cut.order;
  result.back().sizes = cut.sizes;
}

/// Appends what one cut is over the parts of its axis.
static std::optional<std::string> appendParts(const Refinement &refinement,
                                              size_t which, const Cut &cut,
                                              std::vector<Cut> &result) {
  const std::vector<int> &parts = refinement.parts[which][cut.axis];
  if (isBySizes(cut)) {
    appendSizes(parts, cut, result);
    return std::nullopt;
  }
  bool isByRank = cut.order == Order::Zigzag || isPerDocument(cut);
  if (isByRank && parts.size() > 1)
    return splitsOrder(refinement, which, cut);
  auto major = std::ptrdiff_t(result.size());
  int64_t unit = cut.unit;
  for (size_t i = parts.size(); i-- > 0;) {
    Cut part = {parts[i], cut.order, unit, cut.sizes};
    if (auto wrong = check(part, "a part of a striped cut"))
      return wrong;
    result.insert(result.begin() + major, part);
    // Runs that the last part deals out are one run for the part before.
    if (cut.order == Order::Striped)
      unit = multiplySaturating(unit, refinement.mesh.axes[parts[i]].size);
  }
  return std::nullopt;
}

std::optional<std::vector<Cut>> cp::refine(const Refinement &refinement,
                                           size_t which,
                                           const std::vector<Cut> &cuts,
                                           std::string &error) {
  std::vector<Cut> result;
  for (const Cut &cut : cuts)
    if (std::optional<std::string> wrong =
            appendParts(refinement, which, cut, result)) {
      error = *wrong;
      return std::nullopt;
    }
  return result;
}

std::optional<Layout> cp::refine(const Refinement &refinement, size_t which,
                                 const Layout &layout, std::string &error) {
  Layout result{refinement.mesh, {}, {}};
  for (const std::vector<Cut> &cuts : layout.dims) {
    std::optional<std::vector<Cut>> refined =
        refine(refinement, which, cuts, error);
    if (!refined)
      return std::nullopt;
    result.dims.push_back(std::move(*refined));
  }
  for (int axis : layout.partial)
    for (int part : refinement.parts[which][axis])
      result.partial.push_back(part);
  std::sort(result.partial.begin(), result.partial.end());
  return result;
}
