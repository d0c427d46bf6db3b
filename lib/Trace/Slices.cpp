//===- Slices.cpp - Parts within a rank on ids ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

namespace {

/// Where a part stands in a larger tensor, and which of its dimensions have
/// indices of their own rather than those of that tensor.
struct SliceBounds {
  SmallVector<int64_t> part, whole, offsets, steps;
  SmallVector<bool> isOwn;

  template <typename OpTy>
  SliceBounds(OpTy op, ArrayRef<int64_t> part, ArrayRef<int64_t> whole)
      : part(part), whole(whole), offsets(op.getStaticOffsets()),
        steps(op.getStaticStrides()), isOwn(part.size()) {}

  /// Whether the part has this index of a dimension of the larger tensor.
  bool takes(size_t dim, int64_t index) const {
    int64_t ahead = index - offsets[dim];
    return ahead >= 0 && steps[dim] > 0 && ahead % steps[dim] == 0 &&
           ahead / steps[dim] < part[dim];
  }

  bool hasOwn() const { return llvm::is_contained(isOwn, true); }

  /// The element of the larger tensor for one of the part.
  int64_t elementOf(int64_t element) const {
    int64_t place = 0, stride = 1;
    for (size_t dim = part.size(); dim-- > 0;) {
      place += (offsets[dim] + element % part[dim] * steps[dim]) * stride;
      element /= part[dim];
      stride *= whole[dim];
    }
    return place;
  }
};

} // namespace

/// The place along a dimension of each index of the whole, where every rank
/// holds the same ones, each once, and either all in their order or not all;
/// else nothing. All in another order are on their way to their order. Of what
/// the window leaves out nothing need be known, as of zeros behind.
using OwnPlaces = std::optional<llvm::DenseMap<int64_t, int64_t>>;

static OwnPlaces placesOnEachRank(const TracedValue &value, size_t dim,
                                  int64_t ranks, const SliceBounds &window) {
  std::vector<int64_t> first;
  bool isSame = true;
  for (int64_t rank = 0; rank < ranks && isSame; ++rank) {
    Digits digits =
        digitsAlong(value, rank, dim, dim,
                    [&](int64_t, int64_t, int64_t) { isSame = false; });
    if (rank == 0)
      first = digits.at;
    isSame &= digits.at == first;
  }
  llvm::DenseMap<int64_t, int64_t> places;
  bool isAll = value.space->wholeSize(dim) == value.shape[dim];
  for (auto [place, digit] : llvm::enumerate(first)) {
    if (digit < 0 && !window.takes(dim, int64_t(place)))
      continue;
    isSame &= digit >= 0 && places.try_emplace(digit, place).second &&
              (!isAll || digit == int64_t(place));
  }
  return isSame ? OwnPlaces(std::move(places)) : std::nullopt;
}

namespace {

/// An id read in one space and written in another: `change` gets each dimension
/// and index.
int64_t translated(int64_t word, const IdSpace &from, const IdSpace &to,
                   llvm::function_ref<int64_t(size_t, int64_t)> change) {
  if (word <= 0)
    return word;
  int64_t number = 0;
  for (size_t dim = 0; dim + 1 < from.strides.size(); ++dim) {
    int64_t digit = ((word & ~initialTag) - 1) / from.strides[dim + 1] %
                    from.wholeSize(dim);
    number += change(dim, digit) * to.strides[dim + 1];
  }
  return (number + 1) | (word & initialTag);
}

/// The space of `source` with other sizes where dimensions are the part's own.
/// Lengths of sequences stay where nothing is taken off.
IdSpace spaceWith(const IdSpace &source, const SliceBounds &window,
                  ArrayRef<int64_t> ownSizes) {
  if (!window.hasOwn())
    return source;
  SmallVector<int64_t> sizes, base;
  for (size_t dim = 0; dim < ownSizes.size(); ++dim) {
    sizes.push_back(window.isOwn[dim] ? ownSizes[dim] : source.wholeSize(dim));
    if (window.isOwn[dim])
      base.push_back(sizes.back());
    else
      llvm::append_range(base, source.sizesBetween(source.strides[dim],
                                                   source.strides[dim + 1]));
  }
  IdSpace space = IdSpace::of(sizes);
  space.sizes = base;
  return space;
}

} // namespace

/// Parts of known place within a rank's own.
template <typename OpTy> static bool isStatic(OpTy slice) {
  return slice.getSourceType().getRank() ==
             cast<RankedTensorType>(slice->getResult(0).getType()).getRank() &&
         llvm::none_of(slice.getStaticOffsets(), ShapedType::isDynamic) &&
         llvm::none_of(slice.getStaticStrides(), ShapedType::isDynamic);
}

/// A part of what every rank has alike is a tensor of its own; one of what is
/// cut keeps its ids.
void traceExtractSlice(OpTrace &trace, tensor::ExtractSliceOp slice) {
  // Its rule knows of dimensions that are dropped.
  if (!isStatic(slice))
    return traceCompute(trace);
  const TracedValue &source = trace.operand(0u);
  TracedValue &value = trace.result(0);
  if (!source.space)
    return;
  SliceBounds window(slice, value.shape, source.shape);
  SmallVector<OwnPlaces> places(value.shape.size());
  for (size_t dim = 0; dim < value.shape.size(); ++dim)
    if (value.shape[dim] != source.shape[dim] && !(source.hasRows && dim < 2)) {
      places[dim] = placesOnEachRank(source, dim, trace.numRanks(), window);
      window.isOwn[dim] = places[dim].has_value();
    }
  IdSpace space = spaceWith(*source.space, window, value.shape);
  auto change = [&](size_t dim, int64_t digit) {
    if (!window.isOwn[dim])
      return digit;
    return (places[dim]->lookup(digit) - window.offsets[dim]) /
           window.steps[dim];
  };
  value.space = std::make_shared<IdSpace>(space);
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Plane ids = source.idsOf(rank), marks = source.coversOf(rank);
    auto words = std::make_shared<Words>(), covers = std::make_shared<Words>();
    for (int64_t i = 0; i < value.numElements(); ++i) {
      int64_t from = window.elementOf(i);
      words->push_back(window.hasOwn() ? translated((*ids)[from], *source.space,
                                                    space, change)
                                       : (*ids)[from]);
      covers->push_back((*marks)[from]);
    }
    value.ids.push_back(std::move(words));
    if (!source.covers.empty())
      value.covers.push_back(std::move(covers));
  }
}

/// Parts that are tensors of their own get their place from where they go, all
/// others bring their ids.
void traceInsertSlice(OpTrace &trace, tensor::InsertSliceOp slice) {
  if (!isStatic(slice))
    return trace.giveUp();
  const TracedValue &source = trace.operand(0u), &dest = trace.operand(1u);
  TracedValue &value = trace.result(0);
  if (source.isConstant() && dest.isConstant())
    return;
  SliceBounds window(slice, source.shape, value.shape);
  for (size_t dim = 0; source.space && dim < value.shape.size(); ++dim)
    window.isOwn[dim] = source.shape[dim] != value.shape[dim] &&
                        source.space->wholeSize(dim) == source.shape[dim];
  const IdSpace &known = source.space ? *source.space : *dest.space;
  IdSpace space = spaceWith(known, window, value.shape);
  for (size_t dim = 0; dest.space && dim < value.shape.size(); ++dim)
    if (space.wholeSize(dim) != dest.space->wholeSize(dim))
      return trace.giveUp();
  if (dest.space)
    space = *dest.space;
  auto change = [&](size_t dim, int64_t digit) {
    return window.isOwn[dim] ? window.offsets[dim] + digit * window.steps[dim]
                             : digit;
  };
  value.space = std::make_shared<IdSpace>(space);
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Plane ids = source.idsOf(rank), marks = source.coversOf(rank);
    auto words = std::make_shared<Words>(*dest.idsOf(rank));
    auto covers = std::make_shared<Words>(*dest.coversOf(rank));
    for (int64_t i = 0; i < source.numElements(); ++i) {
      int64_t to = window.elementOf(i);
      (*words)[to] = translated((*ids)[i], known, space, change);
      (*covers)[to] = (*marks)[i];
    }
    value.ids.push_back(std::move(words));
    if (!source.covers.empty() || !dest.covers.empty())
      value.covers.push_back(std::move(covers));
  }
}

} // namespace cp
