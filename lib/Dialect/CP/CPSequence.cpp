//===- CPSequence.cpp - What ops along a sequence share ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

Type sumsOf(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

bool canRunByDefault(Operation *op, ArrayRef<Cut> cuts) {
  return isa<PlacedOpInterface>(op) || partsPerRank(cuts.vec());
}

bool needsWholeSequence(Operation *op) {
  return !isa<WindowOpInterface, ScanOpInterface, PlacedOpInterface>(op);
}

Value withElements(OpBuilder &builder, Location loc, Value value,
                   Type element) {
  Type have = getElementTypeOrSelf(value), wanted = element;
  if (have == element)
    return value;
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    wanted = tensor.clone(element);
  if (element.getIntOrFloatBitWidth() > have.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, wanted, value);
  return arith::TruncFOp::create(builder, loc, wanted, value);
}

/// Whether a decay is -0. One that is 0 by rounding is a factor as any other.
static Value isStartDecay(OpBuilder &builder, Location loc, Value decay) {
  auto bits = builder.getIntegerType(decay.getType().getIntOrFloatBitWidth());
  Value asBits = arith::BitcastOp::create(builder, loc, bits, decay);
  Value start = arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(bits, APInt::getSignMask(bits.getWidth())));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, asBits,
                               start);
}

Value advanceByDecay(OpBuilder &builder, Location loc, ValueRange summary,
                     Value before, bool mayStart) {
  Value decay = summary[0], state = summary[1];
  if (!before)
    return state;
  auto type = cast<RankedTensorType>(state.getType());
  before = withElements(builder, loc, before, type.getElementType());
  int64_t given = cast<RankedTensorType>(decay.getType()).getRank();
  auto missing = llvm::to_vector(llvm::seq<int64_t>(given, type.getRank()));
  if (!missing.empty()) {
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    decay = linalg::BroadcastOp::create(builder, loc, decay, empty, missing)
                ->getResult(0);
  }
  if (!mayStart) {
    Value decayed = arith::MulFOp::create(builder, loc, decay, before);
    return arith::AddFOp::create(builder, loc, decayed, state);
  }
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::MapOp::create(
             builder, loc, ValueRange{decay, before, state}, empty,
             [](OpBuilder &b, Location loc, ValueRange at) {
               Value decayed = arith::MulFOp::create(b, loc, at[0], at[1]);
               Value sum = arith::AddFOp::create(b, loc, decayed, at[2]);
               Value starts = isStartDecay(b, loc, at[0]);
               Value next = arith::SelectOp::create(b, loc, starts, at[2], sum);
               linalg::YieldOp::create(b, loc, next);
             })
      ->getResult(0);
}

} // namespace cp
