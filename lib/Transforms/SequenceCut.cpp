//===- SequenceCut.cpp - How the sequence is cut ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequenceCut.h"

#include "cp/Transforms/Passes.h"

using namespace mlir;

namespace cp {
namespace {

/// Appends a cut over the axis of this name, unless it is named already.
bool addAxis(const Mesh &mesh, StringRef name, std::vector<Cut> &cuts,
             ArrayRef<Cut> taken, std::string &message) {
  int axis = mesh.findAxis(name);
  if (axis < 0) {
    message = "axis '" + name.str() + "' is not an axis of mesh '" +
              meshText(mesh) + "'";
    return false;
  }
  for (const Cut &cut : taken)
    if (cut.axis == axis) {
      message = "axis '" + name.str() +
                "' is used twice; an axis cuts the "
                "sequence once, or is that of tensor "
                "parallelism";
      return false;
    }
  cuts.push_back({axis, Order::Contiguous, 1});
  return true;
}

} // namespace

std::optional<SequenceCut> SequenceCut::parse(const Mesh &mesh, StringRef axes,
                                              StringRef order,
                                              StringRef tensorAxis,
                                              std::string &message) {
  SequenceCut result;
  SmallVector<StringRef> names;
  axes.split(names, ',');
  for (StringRef name : names)
    if (!addAxis(mesh, name, result.sequence, result.sequence, message))
      return std::nullopt;
  if (!tensorAxis.empty() && !addAxis(mesh, tensorAxis, result.tensorParallel,
                                      result.sequence, message))
    return std::nullopt;
  std::optional<Cut> first = parseOrder(order.str());
  if (!first) {
    message =
        "order must be contiguous, zigzag, striped or striped:UNIT with a "
        "unit of at least 1, but is '" +
        order.str() + "'";
    return std::nullopt;
  }
  first->axis = result.sequence.front().axis;
  result.sequence.front() = *first;
  return result;
}

std::vector<Cut> SequenceCut::onHidden(CutStrategy strategy) const {
  std::vector<Cut> cuts = tensorParallel;
  auto first = sequence.begin();
  if (strategy == CutStrategy::Sequence)
    first = sequence.end();
  else if (strategy == CutStrategy::TwoD)
    first = std::prev(sequence.end());
  for (; first != sequence.end(); ++first)
    cuts.push_back({first->axis, Order::Contiguous, 1});
  return cuts;
}

std::vector<Cut> SequenceCut::onSequence(CutStrategy strategy) const {
  if (strategy == CutStrategy::Hidden)
    return {};
  std::vector<Cut> cuts = sequence;
  if (strategy == CutStrategy::TwoD)
    cuts.pop_back();
  return cuts;
}

int64_t partsOf(const Mesh &mesh, ArrayRef<Cut> cuts) {
  int64_t parts = 1;
  for (const Cut &cut : cuts)
    parts *= mesh.axes[cut.axis].size;
  return parts;
}

} // namespace cp
