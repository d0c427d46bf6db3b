//===- NextTokens.cpp - Labels of the tokens themselves ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NextTokens.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace cp {

/// A tensor of this type, all of whose elements are `value`.
static Value splat(ImplicitLocOpBuilder &b, RankedTensorType type,
                   int64_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             type, b.getIntegerAttr(type.getElementType(), value)));
}

/// One token further on, and `behind` where there is none.
static Value shifted(ImplicitLocOpBuilder &b, Value tokens, int64_t behind) {
  auto type = cast<RankedTensorType>(tokens.getType());
  RankedTensorType row = type.clone({type.getDimSize(0), 1});
  Value rows = splat(b, row, behind);
  return ShiftTokensOp::create(b, type, tokens, rows, /*delay=*/false);
}

Value buildNextTokens(ImplicitLocOpBuilder &b, Value ids, Value documents,
                      int64_t ignored) {
  Value next = shifted(b, ids, ignored);
  if (!documents)
    return next;
  auto type = cast<RankedTensorType>(ids.getType());
  RankedTensorType placeType = type.clone(b.getI64Type());
  Value places = PositionsOp::create(b, placeType, documents);
  // A document's first token is at place 0, and no token at -1.
  Value place = shifted(b, places, -1), first = splat(b, placeType, 0);
  Value follows =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, place, first);
  return arith::SelectOp::create(b, follows, next, splat(b, type, ignored));
}

} // namespace cp
