//===- TraceMovement.cpp - Collectives on ids -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include <cstring>

using namespace mlir;

namespace cp {
namespace {

Words wordsOf(const std::vector<double> &numbers) {
  Words words(numbers.size());
  if (!words.empty())
    std::memcpy(words.data(), numbers.data(), words.size() * sizeof(double));
  return words;
}

std::vector<double> numbersOf(const Words &words) {
  std::vector<double> numbers(words.size());
  if (!words.empty())
    std::memcpy(numbers.data(), words.data(), words.size() * sizeof(double));
  return numbers;
}

CallBuffer idBuffer(const TracedValue &value, int64_t ranks, bool isInitial) {
  CallBuffer buffer{value.shape, {}};
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Words words = *value.idsOf(rank);
    if (isInitial)
      for (int64_t &word : words)
        word = word > 0 ? word | initialTag : word;
    buffer.ranks.push_back(std::move(words));
  }
  return buffer;
}

CallBuffer coverBuffer(const TracedValue &value, int64_t ranks) {
  CallBuffer buffer{value.shape, {}};
  for (int64_t rank = 0; rank < ranks; ++rank)
    buffer.ranks.push_back(*value.coversOf(rank));
  return buffer;
}

std::vector<Plane> planesOf(CallBuffer buffer) {
  std::vector<Plane> planes;
  for (Words &words : buffer.ranks)
    planes.push_back(std::make_shared<Words>(std::move(words)));
  return planes;
}

/// The ranks with which each rank works, in order.
std::vector<std::vector<int64_t>> groupsOf(MeshAttr meshAttr, ArrayAttr names) {
  Mesh mesh = meshAttr.toMesh();
  std::vector<int> axes;
  for (StringAttr name : names.getAsRange<StringAttr>())
    axes.push_back(mesh.findAxis(name.getValue().str()));
  std::vector<std::vector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    groups.push_back(mesh.group(rank, axes));
  return groups;
}

int64_t positionIn(const std::vector<int64_t> &group, int64_t rank) {
  return llvm::find(group, rank) - group.begin();
}

} // namespace

llvm::Error OpTrace::move() {
  size_t count = op->getNumResults();
  std::vector<CallBuffer> ids, marks;
  bool hasCovers = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    const TracedValue &value = operand(i);
    ids.push_back(idBuffer(value, numRanks(), /*isInitial=*/i >= count));
    marks.push_back(coverBuffer(value, numRanks()));
    hasCovers |= !value.covers.empty();
  }
  auto call = cast<RuntimeOpInterface>(op);
  auto moved = tracer.world.call(call, ids, /*asDoubles=*/false);
  if (!moved)
    return moved.takeError();
  for (size_t i = 0; i < count; ++i) {
    result(i).space = operand(i).space;
    if (!operand(i).isConstant())
      result(i).ids = planesOf(std::move((*moved)[i]));
  }
  if (!hasCovers)
    return llvm::Error::success();
  auto covered = tracer.world.call(call, marks, /*asDoubles=*/false);
  if (!covered)
    return covered.takeError();
  for (size_t i = 0; i < count; ++i)
    result(i).covers = planesOf(std::move((*covered)[i]));
  return llvm::Error::success();
}

/// The first element at which ranks that add theirs do not hold the same one.
static std::optional<std::string> unlikeIn(const TracedValue &value,
                                           const std::vector<int64_t> &group,
                                           int64_t rank) {
  Plane own = value.idsOf(rank), first = value.idsOf(group.front());
  for (size_t i = 0; i < own->size(); ++i)
    if ((*own)[i] > 0 && (*first)[i] > 0 && (*own)[i] != (*first)[i]) {
      const IdSpace &space = *value.space;
      for (size_t dim = 0; dim < value.shape.size(); ++dim) {
        int64_t stride = space.strides[dim + 1], size = space.wholeSize(dim);
        int64_t a = ((*own)[i] - 1) / stride % size;
        int64_t b = ((*first)[i] - 1) / stride % size;
        if (a != b)
          return "adds an element of " + std::to_string(a) + " in dimension " +
                 std::to_string(dim) + " to one of " + std::to_string(b) +
                 " on rank " + std::to_string(group.front());
      }
    }
  return std::nullopt;
}

llvm::Error OpTrace::reduce() {
  const TracedValue &source = operand(0u);
  auto groups = groupsOf(op->getAttrOfType<MeshAttr>("mesh"),
                         op->getAttrOfType<ArrayAttr>("axes"));
  result(0);
  if (source.isConstant())
    return llvm::Error::success();
  NamedValue named{"the source", &source};
  std::vector<int64_t> words;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    if (auto unlike = unlikeIn(source, groups[rank], rank))
      report(rank, *unlike);
    std::optional<int64_t> word = 0;
    for (int64_t batch = 0; batch < source.shape[0] && word != unknownId;
         ++batch) {
      std::optional<int64_t> next = coverOf(named, rank, batch);
      word = batch == 0 || !next || next == word ? next : unknownId;
    }
    words.push_back(word.value_or(0));
  }
  // The mean of equal ids is that id, whoever added them up.
  CallBuffer ids{source.shape, {}};
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Plane plane = source.idsOf(rank);
    ids.ranks.push_back(
        wordsOf(std::vector<double>(plane->begin(), plane->end())));
  }
  auto sums = tracer.world.call(cast<RuntimeOpInterface>(op), {ids},
                                /*asDoubles=*/true);
  if (!sums)
    return sums.takeError();
  TracedValue &value = result(0);
  value.space = source.space;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    auto size = static_cast<int64_t>(groups[rank].size());
    auto plane = std::make_shared<Words>();
    for (double sum : numbersOf(sums->front().ranks[rank])) {
      int64_t total = static_cast<int64_t>(sum);
      plane->push_back(total % size ? unknownId : total / size);
    }
    std::vector<std::pair<int64_t, int64_t>> all;
    int64_t terms = 0;
    bool known = true;
    for (int64_t other : groups[rank]) {
      known &= words[other] >= 0;
      if (words[other] <= 0)
        continue;
      const Cover &cover = tracer.covers[words[other]];
      terms = cover.size;
      all.insert(all.end(), cover.intervals.begin(), cover.intervals.end());
    }
    int64_t word = unknownId;
    auto sum = joined(all);
    if (known && size > 1 && terms == 0)
      report(rank, "adds up what is whole on each of " + std::to_string(size) +
                       " ranks already");
    else if (known && !sum)
      report(rank, "adds the same terms twice");
    else if (known && sum->size() == 1 && sum->front().first == 0 &&
             sum->front().second == terms)
      word = 0;
    else if (known && terms > 0)
      word = tracer.covers.wordOf({false, terms, *sum});
    value.ids.push_back(plane);
    value.covers.push_back(
        word == 0 ? nullptr : std::make_shared<Words>(plane->size(), word));
  }
  if (llvm::none_of(value.covers, [](const Plane &plane) { return plane; }))
    value.covers.clear();
  return llvm::Error::success();
}

llvm::Error OpTrace::scanState() {
  auto scan = cast<ScanStateOp>(op);
  auto groups = groupsOf(scan.getMesh(), scan.getAxes());
  int64_t parts = scan.getZigzag() ? 2 : 1;
  int64_t most = parts * static_cast<int64_t>(groups.front().size());
  // Each part is one bit of a double.
  if (most > 52)
    return llvm::createStringError(
        "cp.scan_state over " + std::to_string(most) +
        " parts, but at most 52 can be traced; use fewer ranks");
  std::vector<CallBuffer> inputs;
  for (unsigned i = 0; i < 2; ++i) {
    const TracedValue &value = operand(i);
    CallBuffer buffer{value.shape, {}};
    int64_t count = value.numElements() / value.shape[0];
    for (int64_t rank = 0; rank < numRanks(); ++rank) {
      int64_t position = positionIn(groups[rank], rank);
      std::vector<double> numbers(value.numElements(), 1);
      for (size_t e = 0; i == 1 && e < numbers.size(); ++e)
        numbers[e] = static_cast<double>(
            int64_t(1) << (parts * position + e / count % parts));
      buffer.ranks.push_back(wordsOf(numbers));
    }
    inputs.push_back(std::move(buffer));
  }
  auto prefixes = tracer.world.call(scan, inputs, /*asDoubles=*/true);
  if (!prefixes)
    return prefixes.takeError();
  NamedValue state{"the state", &operand(1u)};
  NamedValue decay{"the decay", &operand(0u)};
  // By rank, then by element of dimension 0.
  std::vector<std::vector<int64_t>> own(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    for (int64_t b = 0; b < state.value->shape[0]; ++b) {
      std::optional<int64_t> word = coverOf(state, rank, b);
      std::optional<int64_t> decayed = coverOf(decay, rank, b);
      if (word && decayed && *word >= 0 && *decayed >= 0 && word != decayed)
        report(rank, "decay and state do not cover the same tokens");
      own[rank].push_back(word.value_or(0));
    }
  for (unsigned i = 0; i < 2; ++i)
    sameStructure(i, operand(i));
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    std::vector<double> numbers = numbersOf((*prefixes)[1].ranks[rank]);
    int64_t batches = state.value->shape[0];
    int64_t count = static_cast<int64_t>(numbers.size()) / batches;
    std::vector<int64_t> words;
    for (int64_t b = 0; b < batches; ++b) {
      auto bits = count ? static_cast<uint64_t>(numbers[b * count]) : 0;
      std::vector<std::pair<int64_t, int64_t>> all;
      bool known = true;
      for (int64_t part = 0; part < most; ++part) {
        if (!(bits >> part & 1))
          continue;
        int64_t from = groups[rank][part / parts];
        int64_t word = own[from][b / parts * parts + part % parts];
        known &= word > 0;
        if (word > 0) {
          const Cover &cover = tracer.covers[word];
          all.insert(all.end(), cover.intervals.begin(), cover.intervals.end());
        }
      }
      auto run = joined(all);
      if (known && !run)
        report(rank, "takes in the same tokens twice");
      words.push_back(known && run ? tracer.covers.wordOf({true, 0, *run})
                                   : unknownId);
    }
    for (unsigned i = 0; i < 2; ++i) {
      TracedValue &value = result(i);
      auto plane = std::make_shared<Words>(value.numElements());
      for (size_t e = 0; e < plane->size(); ++e)
        (*plane)[e] = words[e * batches / plane->size()];
      value.covers.push_back(plane);
    }
  }
  return llvm::Error::success();
}

} // namespace cp
