//===- OpCost.cpp - How long an op takes, about -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpCost.h"

#include "cp/IR/CPDialect.h"
#include "cp/Layout/Saturating.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cp {

/// While a processor reads or writes an element of what is not in its caches,
/// it does about this many additions and products of a matrix product.
constexpr int64_t perMovedElement = 8;

/// Of sizes, where those that are not known count as 1. What is more than
/// anybody has time for is mostCost.
static int64_t product(ArrayRef<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors)
    if (!ShapedType::isDynamic(factor))
      result = std::min(multiplySaturating(result, factor), mostCost);
  return result;
}

static int64_t elementsOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.hasStaticShape() ? product(tensor.getShape()) : 0;
}

static int64_t sizeOf(Value value, unsigned dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}
static int64_t lastDim(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

/// Of what only passes through memory.
static int64_t costOfMoves(Operation *op) {
  int64_t moved = 0;
  for (Value value : op->getOperands())
    moved += elementsOf(value);
  for (Value value : op->getResults())
    moved += elementsOf(value);
  return product({perMovedElement, moved});
}

/// Each point of the loops that a sum is made over is a product and an
/// addition.
static int64_t costOfLoops(linalg::LinalgOp op) {
  int64_t moved = costOfMoves(op);
  return op.getNumReductionLoops()
             ? std::max(product({2, product(op.getStaticLoopRanges())}), moved)
             : moved;
}

bool isView(Operation *op) {
  return isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op);
}

int64_t bytesOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return 0;
  auto width = static_cast<int64_t>(
      llvm::divideCeil(tensor.getElementTypeBitWidth(), 8));
  return std::min(product({elementsOf(value), width}), mostBytes);
}

int64_t costOf(Operation *op) {
  // Tokens of a tile of the scan, about: of each pair in one it takes a
  // product.
  constexpr int64_t tile = 64;
  if (isView(op) || op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](linalg::FillOp) { return int64_t(0); })
      .Case([](linalg::LinalgOp loops) { return costOfLoops(loops); })
      .Case([](SsdOp scan) {
        return product({2, elementsOf(scan.getX()),
                        product({2, lastDim(scan.getB())}) + tile});
      })
      .Case([](SsdStatesOp scan) {
        return product({2, elementsOf(scan.getX()), lastDim(scan.getB())});
      })
      .Case([](SsdScanOp scan) {
        return product({2, elementsOf(scan.getX()),
                        product({lastDim(scan.getB())}) + tile});
      })
      .Case([](AttentionOp attention) {
        return product(
            {4, elementsOf(attention.getQ()), sizeOf(attention.getK(), 1)});
      })
      .Case([](AttentionRowsOp attention) {
        return product(
            {4, elementsOf(attention.getQ()), sizeOf(attention.getK(), 1)});
      })
      .Case([](LinearCrossEntropyOp loss) {
        return product(
            {2, elementsOf(loss.getH()), sizeOf(loss.getWeight(), 0)});
      })
      .Default([](Operation *other) { return costOfMoves(other); });
}

} // namespace cp
