//===- PaddingMasks.cpp - Rows of padding that nobody sees ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddingMasks.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace cp {

/// `value` with `fill` in place of the rows of dimension `dim` from `length`
/// on.
static Value maskRows(ImplicitLocOpBuilder &b, Value value, int64_t dim,
                      int64_t length, TypedAttr fill) {
  auto type = cast<RankedTensorType>(value.getType());
  auto places = RankedTensorType::get({type.getDimSize(dim)}, b.getI64Type());
  Value positions = PositionsOp::create(b, places);
  Value empty = tensor::EmptyOp::create(b, type, ValueRange());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  AffineMap row = AffineMap::get(type.getRank(), 0, b.getAffineDimExpr(dim));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, TypeRange(type), ValueRange{value, positions},
             ValueRange(empty), ArrayRef<AffineMap>{all, row, all}, loops,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value end = arith::ConstantOp::create(
                   nested, loc, nested.getI64IntegerAttr(length));
               Value isRow = arith::CmpIOp::create(
                   nested, loc, arith::CmpIPredicate::slt, args[1], end);
               Value none = arith::ConstantOp::create(nested, loc, fill);
               Value chosen =
                   arith::SelectOp::create(nested, loc, isRow, args[0], none);
               linalg::YieldOp::create(nested, loc, chosen);
             })
      .getResult(0);
}

void mask(const MaskedRows &rows) {
  Operation *op = rows.operand->getOwner();
  OpBuilder builder(op);
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  rows.operand->set(
      maskRows(b, rows.operand->get(), rows.dim, rows.length, rows.fill));
}

/// The addition to what there is so far of a result, and what it adds; null for
/// a payload of another form.
static OpOperand *addendOf(linalg::GenericOp op, OpOperand &init) {
  unsigned number = op.getTiedOpResult(&init).getResultNumber();
  auto sum = op.getBody()
                 ->getTerminator()
                 ->getOperand(number)
                 .getDefiningOp<arith::AddFOp>();
  if (!sum)
    return nullptr;
  BlockArgument soFar = op.getMatchingBlockArgument(&init);
  for (OpOperand &operand : sum->getOpOperands())
    if (operand.get() == soFar)
      return &sum->getOpOperand(1 - operand.getOperandNumber());
  return nullptr;
}

bool addsUp(linalg::GenericOp op) {
  return llvm::all_of(op.getDpsInitsMutable(),
                      [&](OpOperand &init) { return addendOf(op, init); });
}

void maskLoop(const MaskedLoop &masked) {
  linalg::GenericOp op = masked.op;
  OpBuilder builder(op);
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  auto places = RankedTensorType::get({op.getStaticLoopRanges()[masked.loop]},
                                      b.getI64Type());
  Value positions = PositionsOp::create(b, places);
  unsigned at = op.getNumDpsInputs();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(
      maps.begin() + at,
      AffineMap::get(op.getNumLoops(), 0, b.getAffineDimExpr(masked.loop)));
  BlockArgument place =
      op.getBody()->insertArgument(at, b.getI64Type(), op.getLoc());
  op.getInputsMutable().append(positions);
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  for (OpOperand &init : op.getDpsInitsMutable()) {
    OpOperand &addend = *addendOf(op, init);
    b.setInsertionPoint(addend.getOwner());
    Value end =
        arith::ConstantOp::create(b, b.getI64IntegerAttr(masked.length));
    Value isRow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place, end);
    Value zero =
        arith::ConstantOp::create(b, b.getZeroAttr(addend.get().getType()));
    addend.set(arith::SelectOp::create(b, isRow, addend.get(), zero));
  }
}

} // namespace cp
