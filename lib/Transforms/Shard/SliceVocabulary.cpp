//===- SliceVocabulary.cpp - A language model's head for ranks to share ---===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Source: Shoeybi et al., "Megatron-LM", 2019, section 3 (the cross-entropy of
// a vocabulary that ranks share).
//
//===----------------------------------------------------------------------===//

#include "SliceVocabulary.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace cp {
namespace {

/// Puts together what slices gave.
class SliceMerger {
public:
  SliceMerger(ImplicitLocOpBuilder &builder, RankedTensorType type)
      : b(builder), type(type) {}

  /// log sum_s exp(lse[s]). Of the largest, by which exponentials are taken,
  /// nothing depends.
  Value mergedLse(Value lse) {
    Value top =
        over(lse, {}, -std::numeric_limits<double>::infinity(),
             [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
               return arith::MaximumFOp::create(nested, loc, args[0], args[1]);
             });
    top = StopGradientOp::create(b, type, top);
    Value sum =
        over(lse, top, 0,
             [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
               Value below =
                   arith::SubFOp::create(nested, loc, args[0], args[1]);
               Value part = math::ExpOp::create(nested, loc, below);
               return arith::AddFOp::create(nested, loc, part, args[2]);
             });
    return arith::AddFOp::create(b, top, math::LogOp::create(b, sum));
  }

  Value sumOfSlices(Value each) {
    return over(each, {}, 0,
                [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                  return arith::AddFOp::create(nested, loc, args[0], args[1]);
                });
  }

private:
  /// The reduction of `each`, [b, l, s], over s, from `start`. `body` is given
  /// an element, that of `ofTokens`, [b, l], where there is one, and what there
  /// is.
  Value over(Value each, Value ofTokens, double start,
             function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
    Value number = arith::ConstantOp::create(
        b, b.getFloatAttr(type.getElementType(), start));
    Value init = linalg::FillOp::create(
                     b, number,
                     tensor::EmptyOp::create(b, type, ValueRange()).getResult())
                     .getResult(0);
    AffineMap all = b.getMultiDimIdentityMap(3);
    AffineMap tokens = all.dropResult(2);
    SmallVector<Value> operands = {each};
    SmallVector<AffineMap> maps = {all};
    if (ofTokens) {
      operands.push_back(ofTokens);
      maps.push_back(tokens);
    }
    maps.push_back(tokens);
    SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
    loops.back() = utils::IteratorType::reduction;
    return linalg::GenericOp::create(
               b, TypeRange{type}, operands, ValueRange{init}, maps, loops,
               [&](OpBuilder &nested, Location loc, ValueRange args) {
                 linalg::YieldOp::create(nested, loc, body(nested, loc, args));
               })
        .getResult(0);
  }

  ImplicitLocOpBuilder &b;
  /// Of a number for each token.
  RankedTensorType type;
};

} // namespace

void sliceVocabulary(LinearCrossEntropyOp op, int64_t slices) {
  int64_t rows = op.getWeight().getType().getDimSize(0);
  if (op.getRows() || ShapedType::isDynamic(rows) || rows % slices != 0)
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<int64_t> starts;
  for (int64_t i = 0; i < slices; ++i)
    starts.push_back(i * (rows / slices));
  Value start = arith::ConstantOp::create(
      b, DenseElementsAttr::get(RankedTensorType::get({slices}, b.getI64Type()),
                                ArrayRef(starts)));
  auto type = cast<RankedTensorType>(op.getLosses().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(slices);
  auto each = RankedTensorType::get(shape, type.getElementType());
  auto sliced = LinearCrossEntropyOp::create(b, each, each, op.getH(),
                                             op.getWeight(), op.getLabels(),
                                             start, rows, op.getIgnoreIndex());
  sliced->setAttr(parallelAttr, b.getStringAttr("columns"));
  SliceMerger merger(b, type);
  Value lse = merger.mergedLse(sliced.getLse());
  Value losses =
      arith::AddFOp::create(b, lse, merger.sumOfSlices(sliced.getLosses()));
  op.getLosses().replaceAllUsesWith(losses);
  op.getLse().replaceAllUsesWith(lse);
  op.erase();
}

} // namespace cp
