//===- Simulator.cpp - Steps carried out on arrays ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"

#include "Support.h"

#include <algorithm>
#include <numeric>

using namespace cp;
using namespace cp::test;

using Shape = std::vector<int64_t>;

static int64_t countElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Calls `visit` with the row-major number and the indices of each element.
template <typename Visit> static void forEach(const Shape &shape, Visit visit) {
  Shape at(shape.size(), 0);
  for (int64_t i = 0, count = countElements(shape); i < count; ++i) {
    visit(i, at);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++at[dim] < shape[dim])
        break;
      at[dim] = 0;
    }
  }
}

static int64_t offsetOf(const Shape &shape, const Shape &at) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    offset = offset * shape[dim] + at[dim];
  return offset;
}

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 27);
}

/// The summand of element `id` that `rank` holds, its value on the axes of
/// `summed` that are not `partial` being added up already.
static uint64_t valueOf(const Mesh &mesh, int64_t id, int64_t rank,
                        const std::vector<int> &summed,
                        const std::vector<int> &partial) {
  std::vector<int> added;
  std::set_difference(summed.begin(), summed.end(), partial.begin(),
                      partial.end(), std::back_inserter(added));
  uint64_t value = 0;
  for (int64_t peer : mesh.group(rank, added)) {
    uint64_t place = id + 1;
    for (int axis : summed)
      place = mix(place * 64 + mesh.coordinates(peer)[axis]);
    value += place;
  }
  return value;
}

std::vector<Part> cp::test::distribute(const Layout &layout, const Shape &shape,
                                       const std::vector<int> &summed) {
  std::vector<Part> parts(layout.mesh.numRanks());
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    Part &part = parts[rank];
    std::vector<Shape> mine;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      mine.push_back(held(layout.mesh, layout.dims[dim], shape[dim], rank));
      part.shape.push_back(mine.back().size());
    }
    forEach(part.shape, [&](int64_t, Shape at) {
      for (size_t dim = 0; dim < at.size(); ++dim)
        at[dim] = mine[dim][at[dim]];
      int64_t id = offsetOf(shape, at);
      part.elements.push_back(
          {id, valueOf(layout.mesh, id, rank, summed, layout.partial), -1});
    });
  }
  return parts;
}

static Shape iota(int64_t size) {
  Shape list(size);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// What position r of a group keeps of `whole` when `dim` is cut.
static Part cutPart(const Part &whole, const Share &share, int64_t group,
                    int64_t r) {
  const Parts &parts = std::get<Parts>(share);
  int dim = parts.dim;
  Cut cut = jointCut(parts.cuts);
  Shape mine = pick(iota(whole.shape[dim]), cut, group, r);
  Part part{whole.shape, {}};
  part.shape[dim] = mine.size();
  forEach(part.shape, [&](int64_t, Shape at) {
    at[dim] = mine[at[dim]];
    part.elements.push_back(whole.elements[offsetOf(whole.shape, at)]);
  });
  return part;
}

/// The inverse of cutPart, from all positions' parts.
static Part join(const std::vector<Part> &parts, const Share &share) {
  int dim = std::get<Parts>(share).dim;
  Cut cut = jointCut(std::get<Parts>(share).cuts);
  Part whole{parts[0].shape, {}};
  whole.shape[dim] = 0;
  for (const Part &part : parts)
    whole.shape[dim] += part.shape[dim];
  whole.elements.resize(countElements(whole.shape));
  for (size_t r = 0; r < parts.size(); ++r) {
    Shape places = pick(iota(whole.shape[dim]), cut, parts.size(), r);
    forEach(parts[r].shape, [&](int64_t i, Shape at) {
      at[dim] = places[at[dim]];
      whole.elements[offsetOf(whole.shape, at)] = parts[r].elements[i];
    });
  }
  return whole;
}

/// Counts what `rank` took from others; at each element one may be its own.
static void countTaken(const Part &part, int64_t rank, Shape &sent) {
  for (const Element &element : part.elements)
    if (element.owner != rank)
      ++sent[element.owner];
}

/// The sum over the group of what `select` makes of each part.
template <typename Select>
static Part addUp(const std::vector<Part> &parts, int64_t rank, Shape &sent,
                  Select select) {
  Part sum;
  for (const Part &part : parts) {
    Part chosen = select(part);
    countTaken(chosen, rank, sent);
    if (sum.elements.empty()) {
      sum = chosen;
      continue;
    }
    for (size_t i = 0; i < sum.elements.size(); ++i)
      sum.elements[i].value += chosen.elements[i].value;
  }
  return sum;
}

std::vector<Part> cp::test::addUp(const Mesh &mesh,
                                  const std::vector<Part> &parts,
                                  const std::vector<int> &axes) {
  std::vector<Part> sums = parts;
  for (size_t rank = 0; rank < parts.size(); ++rank)
    for (int64_t peer : mesh.group(int64_t(rank), axes))
      if (peer != int64_t(rank))
        for (size_t i = 0; i < parts[rank].elements.size(); ++i)
          sums[rank].elements[i].value += parts[peer].elements[i].value;
  return sums;
}

static Part simulateRank(const Step &step, const std::vector<Part> &group,
                         int64_t position, int64_t rank, Shape &sent) {
  int64_t size = group.size();
  Part result;
  switch (step.kind()) {
  case Step::Kind::AllReduce:
    return addUp(group, rank, sent, [](const Part &part) { return part; });
  case Step::Kind::ReduceScatter:
    return addUp(group, rank, sent, [&](const Part &part) {
      return cutPart(part, step.to, size, position);
    });
  case Step::Kind::Slice:
    result = cutPart(group[position], step.to, size, position);
    break;
  case Step::Kind::AllGather:
    result = join(group, step.from);
    break;
  case Step::Kind::AllToAll:
  case Step::Kind::Reorder:
    result = cutPart(join(group, step.from), step.to, size, position);
    break;
  case Step::Kind::Unslice:
    result = join(group, step.from);
    for (Element &element : result.elements)
      if (element.owner != rank)
        element = {element.id, 0, rank};
    break;
  }
  countTaken(result, rank, sent);
  return result;
}

std::vector<Part> cp::test::simulate(const Step &step, const Mesh &mesh,
                                     std::vector<Part> parts, Shape &sent) {
  for (size_t rank = 0; rank < parts.size(); ++rank)
    for (Element &element : parts[rank].elements)
      element.owner = rank;
  std::vector<Part> results(parts.size());
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    std::vector<int64_t> ranks = mesh.group(rank, step.axes);
    std::vector<Part> group;
    for (int64_t peer : ranks)
      group.push_back(parts[peer]);
    int64_t position =
        std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    results[rank] = simulateRank(step, group, position, rank, sent);
  }
  return results;
}

bool cp::test::same(const std::vector<Part> &a, const std::vector<Part> &b) {
  auto sameElement = [](const Element &x, const Element &y) {
    return x.id == y.id && x.value == y.value;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Part &x, const Part &y) {
                      return x.shape == y.shape &&
                             std::equal(x.elements.begin(), x.elements.end(),
                                        y.elements.begin(), y.elements.end(),
                                        sameElement);
                    });
}
