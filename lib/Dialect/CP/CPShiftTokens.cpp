//===- CPShiftTokens.cpp - What stands further on ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

LogicalResult ShiftTokensOp::verify() {
  RankedTensorType type = getSource().getType();
  if (type.getRank() < 2)
    return emitOpError(
               "shift_tokens_c1: the source must be [b, l] or have more "
               "dimensions behind these, but is ")
           << type;
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isBF16() &&
      !element.isInteger(32) && !element.isInteger(64))
    return emitOpError(
               "shift_tokens_c1: elements that travel between ranks are "
               "f32, f64, bf16, i32 or i64, but the source is ")
           << type << "; convert it";
  SmallVector<int64_t> shape(type.getShape());
  ArrayRef<int64_t> rows = shapeOf(getRows());
  shape[1] = ShapedType::kDynamic;
  if (failed(
          expectShape(*this, "shift_tokens_c2", "the rows", getRows(), shape)))
    return failure();
  if (ShapedType::isDynamic(rows[1]))
    return emitOpError("shift_tokens_c2: the number of rows is how far tokens "
                       "are shifted and must be known, but is '?' in ")
           << getRows().getType();
  if (failed(expectAtLeast(*this, "shift_tokens_c2", "the number of rows",
                           rows[1], 1)))
    return failure();
  if (getRows().getType().getElementType() == type.getElementType())
    return success();
  return emitOpError("shift_tokens_c2: the rows must have elements as the "
                     "source has them, ")
         << type.getElementType() << ", but are " << getRows().getType();
}

/// "b l 2 3; b . 2 3 -> b l 2 3", with letters.
FailureOr<ShardingRule> ShiftTokensOp::getShardingRule() {
  std::string others;
  for (int64_t dim = 2; dim < getSource().getType().getRank(); ++dim)
    others += " c" + std::to_string(dim);
  std::string tokens = "b l" + others;
  return ShardingRule::parse(tokens + "; b ." + others + " -> " + tokens,
                             *this);
}

//===----------------------------------------------------------------------===//
// A window
//===----------------------------------------------------------------------===//

/// Rows are shifted where they are, with all that belongs to a token.
int64_t ShiftTokensOp::getHiddenFactor() { return -1; }

std::optional<CutStrategy> ShiftTokensOp::getCutStrategy() {
  return CutStrategy::Sequence;
}

int64_t ShiftTokensOp::getWindowRows() { return shapeOf(getRows())[1]; }
bool ShiftTokensOp::isReverse() { return !getDelay(); }
Value ShiftTokensOp::getInitialRows() { return getRows(); }
void ShiftTokensOp::setInitialRows(Value rows) {
  getRowsMutable().assign(rows);
}

} // namespace cp
