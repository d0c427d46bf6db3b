//===- PartRoom.cpp - Parts of unlike sizes in one shape ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartRoom.h"

#include "cp/IR/RowSlices.h"
#include "cp/Layout/Cut.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

/// Neighbours of the whole that are neighbours among the rooms too.
struct Piece {
  int64_t inWhole, inRooms, length;
};

} // namespace

/// None of a tensor without elements, of which a slice may not begin at 0.
static SmallVector<Piece> piecesOf(const Cut &cut, Value value) {
  SmallVector<Piece> pieces;
  if (cast<RankedTensorType>(value.getType()).getNumElements() == 0)
    return pieces;
  int64_t before = 0, room = largestSize(cut);
  for (auto [position, size] : llvm::enumerate(cut.sizes)) {
    Piece piece = {before, static_cast<int64_t>(position) * room, size};
    before += size;
    if (size == 0)
      continue;
    if (!pieces.empty() &&
        pieces.back().inRooms + pieces.back().length == piece.inRooms)
      pieces.back().length += size;
    else
      pieces.push_back(piece);
  }
  return pieces;
}

/// Whether every part fills its room.
static bool isFull(const Cut &cut) { return llvm::all_equal(cut.sizes); }

static RankedTensorType typeWith(Value value, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

static Value empty(OpBuilder &builder, Location loc, RankedTensorType type) {
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType());
}

Value withRoom(OpBuilder &builder, Location loc, Value whole, int64_t dim,
               const Cut &cut) {
  if (isFull(cut))
    return whole;
  RankedTensorType type = typeWith(
      whole, dim, largestSize(cut) * static_cast<int64_t>(cut.sizes.size()));
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value rooms =
      linalg::FillOp::create(builder, loc, zero, empty(builder, loc, type))
          .getResult(0);
  for (const Piece &piece : piecesOf(cut, whole))
    rooms = putAlong(
        builder, loc,
        sliceAlong(builder, loc, whole, dim, piece.inWhole, piece.length),
        rooms, dim, piece.inRooms);
  return rooms;
}

Value withoutRoom(OpBuilder &builder, Location loc, Value roomy, int64_t dim,
                  const Cut &cut) {
  if (isFull(cut))
    return roomy;
  SmallVector<Piece> pieces = piecesOf(cut, roomy);
  auto cutOut = [&](const Piece &piece) {
    return sliceAlong(builder, loc, roomy, dim, piece.inRooms, piece.length);
  };
  if (pieces.size() == 1)
    return cutOut(pieces.front());
  Value whole = empty(builder, loc, typeWith(roomy, dim, sumOfSizes(cut)));
  for (const Piece &piece : pieces)
    whole = putAlong(builder, loc, cutOut(piece), whole, dim, piece.inWhole);
  return whole;
}

} // namespace cp
