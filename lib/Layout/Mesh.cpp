//===- Mesh.cpp - Ranks arranged on named axes ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Mesh.h"

#include <utility>

using namespace cp;

static constexpr int64_t maxRanks = int64_t(1) << 31;
static constexpr size_t maxAxes = 64;

/// How far apart in the ranks' numbers two neighbours on `axis` are.
static int64_t strideOf(const Mesh &mesh, int axis) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < mesh.axes.size(); ++i)
    stride *= mesh.axes[i].size;
  return stride;
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

int Mesh::findAxis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  return -1;
}

int64_t Mesh::coordinate(int64_t rank, int axis) const {
  return rank / strideOf(*this, axis) % axes[axis].size;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0; rank /= axes[i].size)
    result[i] = rank % axes[i].size;
  return result;
}

int64_t Mesh::rankOf(const std::vector<int64_t> &coordinates) const {
  int64_t rank = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    rank = rank * axes[i].size + coordinates[i];
  return rank;
}

std::vector<int64_t> Mesh::group(int64_t rank,
                                 const std::vector<int> &axes) const {
  for (int axis : axes)
    rank -= coordinate(rank, axis) * strideOf(*this, axis);
  std::vector<int64_t> ranks = {rank};
  for (int axis : axes) {
    int64_t stride = strideOf(*this, axis);
    std::vector<int64_t> longer;
    longer.reserve(ranks.size() * this->axes[axis].size);
    for (int64_t first : ranks)
      for (int64_t i = 0; i < this->axes[axis].size; ++i)
        longer.push_back(first + i * stride);
    ranks = std::move(longer);
  }
  return ranks;
}

int64_t Mesh::positionInGroup(int64_t rank,
                              const std::vector<int> &axes) const {
  int64_t position = 0;
  for (int axis : axes)
    position = position * this->axes[axis].size + coordinate(rank, axis);
  return position;
}

int64_t Mesh::groupSize(const std::vector<int> &axes) const {
  int64_t size = 1;
  for (int axis : axes)
    size *= this->axes[axis].size;
  return size;
}

bool cp::operator==(const Mesh &a, const Mesh &b) {
  if (a.axes.size() != b.axes.size())
    return false;
  for (size_t i = 0; i < a.axes.size(); ++i)
    if (a.axes[i].name != b.axes[i].name || a.axes[i].size != b.axes[i].size)
      return false;
  return true;
}

std::string cp::meshText(const Mesh &mesh) {
  std::string text;
  for (const Mesh::Axis &axis : mesh.axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

static std::optional<std::string> checkName(const Mesh &mesh, size_t axis) {
  const std::string &name = mesh.axes[axis].name;
  if (name.empty())
    return "mesh_c1: axis " + std::to_string(axis) +
           " has an empty name; give every axis a name of its own";
  int first = mesh.findAxis(name);
  if (first != int(axis))
    return "mesh_c1: the axes " + std::to_string(first) + " and " +
           std::to_string(axis) + " are both named \"" + name +
           "\"; rename one of them";
  return std::nullopt;
}

std::optional<std::string> cp::check(const Mesh &mesh) {
  if (mesh.axes.size() > maxAxes)
    return "mesh_c4: expected at most " + std::to_string(maxAxes) +
           " axes, got " + std::to_string(mesh.axes.size()) +
           "; merge axes that are always used together";
  int64_t ranks = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    if (std::optional<std::string> error = checkName(mesh, i))
      return error;
    const Mesh::Axis &axis = mesh.axes[i];
    if (axis.size < 1)
      return "mesh_c2: axis \"" + axis.name +
             "\": expected a size of at least 1, got " +
             std::to_string(axis.size) + "; drop the axis or correct its size";
    if (axis.size > maxRanks / ranks)
      return "mesh_c3: expected at most " + std::to_string(maxRanks) +
             " ranks, got " + std::to_string(ranks) + " x " +
             std::to_string(axis.size) + " up to axis \"" + axis.name +
             "\"; make the axes smaller";
    ranks *= axis.size;
  }
  return std::nullopt;
}
