//===- Group.cpp - The ranks that take part in a collective ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include <algorithm>

using namespace cp::runtime;

static Error checkAxes(const Context &context, const Descriptor &call,
                       Words axes) {
  int64_t count = int64_t(context.world.mesh.axes.size());
  uint64_t seen = 0;
  for (size_t i = 0; i < axes.size; ++i) {
    bool inside = axes[i] >= 0 && axes[i] < count;
    if (!inside || (seen >> axes[i] & 1))
      return call.invalid("attribute 'axes' is " +
                          listText(axes.data, axes.size) +
                          ", expected different positions from 0 to " +
                          std::to_string(count - 1) +
                          "; run the program on the mesh it was compiled for");
    seen |= uint64_t(1) << axes[i];
  }
  return std::nullopt;
}

static Group makeGroup(Context &context, const std::vector<int> &axes) {
  const cp::Mesh &mesh = context.world.mesh;
  std::vector<int64_t> ranks = mesh.group(context.rank, axes);
  Group group;
  group.size = int64_t(ranks.size());
  group.position = mesh.positionInGroup(context.rank, axes);
  group.mesh.axes.push_back({"group", group.size});
  for (int axis : axes)
    group.axesMask |= uint64_t(1) << axis;
  if (group.size > 1)
    group.channel = context.world.openChannel(context, ranks, group.position);
  return group;
}

Error cp::runtime::findGroup(Context &context, const Descriptor &call,
                             Words axes, const Group *&group) {
  if (Error failure = checkAxes(context, call, axes))
    return failure;
  auto entry = std::find_if(
      context.groups.begin(), context.groups.end(), [&](const auto &known) {
        return std::equal(known.first.begin(), known.first.end(), axes.data,
                          axes.data + axes.size);
      });
  if (entry == context.groups.end()) {
    std::vector<int> key(axes.data, axes.data + axes.size);
    entry = context.groups.emplace(key, makeGroup(context, key)).first;
  }
  group = &entry->second;
  return std::nullopt;
}

Error cp::runtime::checkCut(const Descriptor &call, const Group &group,
                            const List<int64_t> &sizes, size_t dim,
                            const Cut &cut) {
  // One rank holds everything, in whatever order.
  Cut known = group.size == 1 ? Cut() : cut;
  if (sizes[dim] >= 0 && divides(known, group.size, sizes[dim]))
    return std::nullopt;
  Layout layout;
  layout.mesh = group.mesh;
  layout.dims.resize(sizes.size());
  layout.dims[dim].push_back(known);
  if (std::optional<std::string> wrong =
          check(layout, {sizes.begin(), sizes.end()}))
    return call.invalid("dim " + std::to_string(dim) + " of " +
                        listText(sizes.data(), sizes.size()) +
                        " cannot be cut over " + std::to_string(group.size) +
                        " ranks: " + *wrong);
  return std::nullopt;
}
