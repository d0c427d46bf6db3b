//===- TraceShapes.cpp - Changes of shape on ids ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

/// Whether on every rank the elements of a dimension have one index of it each,
/// when this is counted in steps of `strides[dim + 1]` below `strides[dim]`.
static bool isSeparable(const TracedValue &value, size_t dim, int64_t ranks) {
  bool separable = true;
  for (int64_t rank = 0; rank < ranks && separable; ++rank)
    digitsAlong(value, rank, dim, dim,
                [&](int64_t, int64_t, int64_t) { separable = false; });
  return separable;
}

/// Where the whole tensor is divided between dimensions `dim` - 1 and `dim`,
/// which a change of shape has made of one. An inner dimension is not cut, so
/// that it has the size that it has here, unless the elements say otherwise: a
/// batch may have been one dimension with the parts of a sequence.
static void divide(TracedValue &value, IdSpace &space, size_t dim,
                   int64_t ranks) {
  int64_t outer = space.strides[dim - 1], inner = space.strides[dim + 1];
  SmallVector<int64_t> candidates = {inner * value.shape[dim]};
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(space.sizes)) {
    stride *= size;
    if (stride > inner && stride <= outer)
      candidates.push_back(stride);
  }
  for (int64_t candidate : candidates) {
    space.strides[dim] = candidate;
    value.space = std::make_shared<IdSpace>(space);
    if (outer % candidate == 0 && isSeparable(value, dim - 1, ranks))
      return;
  }
  space.strides[dim] = candidates.front();
  value.space = std::make_shared<IdSpace>(space);
}

void OpTrace::reshape(ArrayRef<ReassociationIndices> groups, bool expands) {
  const TracedValue source = operand(0u);
  TracedValue &value = result(0);
  value.ids = source.ids;
  value.covers = source.covers;
  if (!source.space)
    return;
  IdSpace space{{}, source.space->sizes};
  space.strides.assign(value.shape.size() + 1, 1);
  if (!expands) {
    for (auto [dim, group] : llvm::enumerate(groups))
      space.strides[dim] = source.space->strides[group.front()];
    value.space = std::make_shared<IdSpace>(space);
    return;
  }
  // First all borders that stay, then from the innermost one out.
  for (auto [dim, group] : llvm::enumerate(groups))
    for (int64_t index : group)
      space.strides[index] = source.space->strides[dim];
  for (const ReassociationIndices &group : llvm::reverse(groups))
    for (int64_t index : llvm::reverse(ArrayRef(group).drop_front()))
      divide(value, space, index, numRanks());
  value.space = std::make_shared<IdSpace>(space);
}

/// Whether every rank holds all of a dimension in its order.
static bool isWholeInOrder(const TracedValue &value, size_t dim,
                           int64_t ranks) {
  if (value.space->wholeSize(dim) != value.shape[dim])
    return false;
  bool inOrder = true;
  for (int64_t rank = 0; rank < ranks && inOrder; ++rank) {
    Digits digits =
        digitsAlong(value, rank, dim, dim,
                    [&](int64_t, int64_t, int64_t) { inOrder = false; });
    for (auto [i, digit] : llvm::enumerate(digits.at))
      inOrder &= digit == static_cast<int64_t>(i);
  }
  return inOrder;
}

/// A part of what every rank has in full is a tensor of its own; one of what is
/// cut keeps its ids.
void OpTrace::extractSlice() {
  auto slice = cast<tensor::ExtractSliceOp>(op);
  const TracedValue source = operand(0u);
  TracedValue &value = result(0);
  if (!source.space)
    return;
  size_t rank = value.shape.size();
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  ArrayRef<int64_t> steps = slice.getStaticStrides();
  SmallVector<bool> isOwn(rank);
  SmallVector<int64_t> sizes;
  for (size_t dim = 0; dim < rank; ++dim) {
    isOwn[dim] = value.shape[dim] != source.shape[dim] &&
                 isWholeInOrder(source, dim, numRanks());
    sizes.push_back(isOwn[dim] ? value.shape[dim]
                               : source.space->wholeSize(dim));
  }
  bool keepsIds = llvm::none_of(isOwn, [](bool own) { return own; });
  IdSpace space = keepsIds ? *source.space : IdSpace::of(sizes);
  if (!keepsIds) {
    // Lengths of sequences survive where nothing was taken off.
    space.sizes.clear();
    for (size_t dim = 0; dim < rank; ++dim)
      if (isOwn[dim])
        space.sizes.push_back(sizes[dim]);
      else
        llvm::append_range(space.sizes, source.space->sizesBetween(
                                            source.space->strides[dim],
                                            source.space->strides[dim + 1]));
  }
  auto pick = [&](const Plane &plane, bool isIds) {
    auto words = std::make_shared<Words>(value.numElements());
    for (size_t i = 0; i < words->size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), from = 0, stride = 1;
      for (size_t dim = rank; dim-- > 0;) {
        from += (offsets[dim] + rest % value.shape[dim] * steps[dim]) * stride;
        rest /= value.shape[dim];
        stride *= source.shape[dim];
      }
      int64_t word = (*plane)[from];
      if (isIds && word > 0 && !keepsIds) {
        int64_t number = 0;
        for (size_t dim = 0; dim < rank; ++dim) {
          int64_t digit = ((word & ~initialTag) - 1) /
                          source.space->strides[dim + 1] %
                          source.space->wholeSize(dim);
          if (isOwn[dim])
            digit = (digit - offsets[dim]) / steps[dim];
          number += digit * space.strides[dim + 1];
        }
        word = (number + 1) | (word & initialTag);
      }
      (*words)[i] = word;
    }
    return words;
  };
  value.space = std::make_shared<IdSpace>(space);
  for (int64_t r = 0; r < numRanks(); ++r) {
    value.ids.push_back(pick(source.idsOf(r), true));
    if (!source.covers.empty())
      value.covers.push_back(pick(source.coversOf(r), false));
  }
}

/// Parts that are tensors of their own get their place from where they go, all
/// others bring their ids.
void OpTrace::insertSlice() {
  auto slice = cast<tensor::InsertSliceOp>(op);
  const TracedValue source = operand(0u), dest = operand(1u);
  TracedValue &value = result(0);
  size_t rank = value.shape.size();
  if (source.isConstant() && dest.isConstant())
    return;
  const TracedValue &known = source.space ? source : dest;
  SmallVector<bool> isOwn(rank);
  SmallVector<int64_t> sizes;
  for (size_t dim = 0; dim < rank; ++dim) {
    isOwn[dim] = source.space && source.shape[dim] != value.shape[dim] &&
                 source.space->wholeSize(dim) == source.shape[dim];
    sizes.push_back(isOwn[dim] ? value.shape[dim]
                               : known.space->wholeSize(dim));
  }
  bool keepsIds = llvm::none_of(isOwn, [](bool own) { return own; });
  IdSpace space = keepsIds ? *known.space : IdSpace::of(sizes);
  if (source.space && dest.space) {
    bool fits =
        llvm::equal(llvm::seq<size_t>(0, rank), llvm::seq<size_t>(0, rank),
                    [&](size_t dim, size_t) {
                      return space.wholeSize(dim) == dest.space->wholeSize(dim);
                    });
    if (!fits)
      return setUnknown();
    space = *dest.space;
  }
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  ArrayRef<int64_t> steps = slice.getStaticStrides();
  auto place = [&](Words words, const Plane &from, bool isIds) {
    for (size_t i = 0; i < from->size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), to = 0, stride = 1;
      int64_t word = (*from)[i], number = 0;
      for (size_t dim = rank; dim-- > 0;) {
        int64_t local = rest % source.shape[dim];
        to += (offsets[dim] + local * steps[dim]) * stride;
        rest /= source.shape[dim];
        stride *= value.shape[dim];
        if (!isIds || word <= 0)
          continue;
        int64_t digit = ((word & ~initialTag) - 1) /
                        source.space->strides[dim + 1] %
                        source.space->wholeSize(dim);
        if (isOwn[dim])
          digit = offsets[dim] + digit * steps[dim];
        number += digit * space.strides[dim + 1];
      }
      words[to] = isIds && word > 0 ? (number + 1) | (word & initialTag) : word;
    }
    return std::make_shared<Words>(std::move(words));
  };
  value.space = std::make_shared<IdSpace>(space);
  for (int64_t r = 0; r < numRanks(); ++r) {
    value.ids.push_back(place(*dest.idsOf(r), source.idsOf(r), true));
    if (!source.covers.empty() || !dest.covers.empty())
      value.covers.push_back(
          place(*dest.coversOf(r), source.coversOf(r), false));
  }
}

} // namespace cp
