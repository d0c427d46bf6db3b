//===- SplitSums.cpp - Long sums as sums of short ones --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace cp {
#define GEN_PASS_DEF_SPLITSUMS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// A dimension that a sum runs over, and how many terms it has.
struct SumDim {
  unsigned dim;
  int64_t size;
};

/// Whether the body adds something to each element of the result, which it
/// reads for nothing else.
bool addsUp(linalg::GenericOp op) {
  BlockArgument sum = op.getRegionOutputArgs()[0];
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  return add && sum.hasOneUse() && *sum.user_begin() == add && add->hasOneUse();
}

/// Whether each operand has the dimension by itself or not at all.
bool standsAlone(AffineMap map, unsigned dim) {
  unsigned times = 0;
  for (AffineExpr result : map.getResults()) {
    bool isDim = result == getAffineDimExpr(dim, map.getContext());
    if (!isDim && result.isFunctionOfDim(dim))
      return false;
    times += isDim;
  }
  return times <= 1;
}

/// The longest dimension of a sum that can be split.
std::optional<SumDim> dimOf(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  std::optional<SumDim> longest;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    // One of the result adds up along a diagonal.
    if (kind != utils::IteratorType::reduction ||
        op.getIndexingMapsArray().back().isFunctionOfDim(unsigned(dim)) ||
        !llvm::all_of(op.getIndexingMapsArray(),
                      [dim = unsigned(dim)](AffineMap map) {
                        return standsAlone(map, dim);
                      }))
      continue;
    if (!longest || sizes[dim] > longest->size)
      longest = SumDim{unsigned(dim), sizes[dim]};
  }
  return longest;
}

bool canSplit(linalg::GenericOp op) {
  return op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
         isa<FloatType>(getElementTypeOrSelf(op.getResultTypes()[0])) &&
         !op.hasIndexSemantics() &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) {
                        auto tensor = dyn_cast<RankedTensorType>(type);
                        return !tensor || (tensor.hasStaticShape() &&
                                           !tensor.getEncoding());
                      }) &&
         addsUp(op);
}

/// The divisor of `size` by which the longer of a part and of the sum of parts
/// is shortest, of `most` parts at most.
int64_t partsOf(int64_t size, int64_t terms, int64_t most) {
  int64_t best = 1, least = terms;
  for (int64_t parts = 2; parts <= std::min(size, most); ++parts) {
    int64_t longer = std::max(terms / parts, parts);
    if (size % parts == 0 && longer < least) {
      best = parts;
      least = longer;
    }
  }
  return best;
}

/// Sums of parts, in place of a sum.
class SumSplitter {
public:
  SumSplitter(linalg::GenericOp op, SumDim of, int64_t parts)
      : builder(op.getLoc(), op), op(op), dim(of.dim), parts(parts),
        each(of.size / parts),
        type(cast<RankedTensorType>(op.getResultTypes()[0])) {
    for (AffineExpr result : op.getIndexingMapsArray().back().getResults())
      if (auto outer = dyn_cast<AffineDimExpr>(result);
          outer && outer.getPosition() < dim)
        ++place;
      else
        break;
  }

  Value split() { return sumParts(formParts()); }

private:
  /// The dimension becomes two: terms of a part, and parts, which lie side by
  /// side.
  AffineMap widened(AffineMap map) {
    SmallVector<AffineExpr> results;
    for (AffineExpr result : map.getResults()) {
      bool isDim = result == builder.getAffineDimExpr(dim);
      results.push_back(result.shiftDims(map.getNumDims(), 1, dim + 1));
      if (isDim)
        results.push_back(builder.getAffineDimExpr(dim + 1));
    }
    return AffineMap::get(map.getNumDims() + 1, 0, results,
                          builder.getContext());
  }

  /// A term of each part after the other.
  Value expanded(Value input, AffineMap map) {
    auto from = dyn_cast<RankedTensorType>(input.getType());
    std::optional<unsigned> at =
        map.getResultPosition(builder.getAffineDimExpr(dim));
    if (!from || !at)
      return input;
    SmallVector<int64_t> shape(from.getShape());
    shape[*at] = each;
    shape.insert(shape.begin() + *at + 1, parts);
    SmallVector<ReassociationIndices> groups;
    for (unsigned i = 0, next = 0; i < from.getRank(); ++i) {
      groups.push_back({next++});
      if (i == *at)
        groups.back().push_back(next++);
    }
    return tensor::ExpandShapeOp::create(builder, from.clone(shape), input,
                                         groups);
  }

  Value formParts() {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      inputs.push_back(expanded(input->get(), map));
      maps.push_back(widened(map));
    }
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + place, parts);
    AffineMap out = widened(op.getIndexingMapsArray().back());
    maps.push_back(out.insertResult(builder.getAffineDimExpr(dim + 1), place));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.insert(kinds.begin() + dim + 1, utils::IteratorType::parallel);
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(type.getElementType()));
    Value empty =
        tensor::EmptyOp::create(builder, shape, type.getElementType());
    Value init = linalg::FillOp::create(builder, zero, empty).getResult(0);
    auto made = linalg::GenericOp::create(builder, init.getType(), inputs, init,
                                          maps, kinds);
    IRMapping mapping;
    op.getRegion().cloneInto(&made.getRegion(), mapping);
    return made.getResult(0);
  }

  Value sumParts(Value of) {
    unsigned rank = unsigned(type.getRank());
    AffineMap from = builder.getMultiDimIdentityMap(rank + 1);
    SmallVector<utils::IteratorType> kinds(rank + 1,
                                           utils::IteratorType::parallel);
    kinds[place] = utils::IteratorType::reduction;
    return linalg::GenericOp::create(
               builder, TypeRange{type}, ValueRange{of}, op.getDpsInits(),
               ArrayRef<AffineMap>{from, from.dropResult(place)}, kinds,
               [](OpBuilder &nested, Location loc, ValueRange args) {
                 Value sum =
                     arith::AddFOp::create(nested, loc, args[0], args[1]);
                 linalg::YieldOp::create(nested, loc, sum);
               })
        .getResult(0);
  }

  ImplicitLocOpBuilder builder;
  linalg::GenericOp op;
  unsigned dim;
  int64_t parts, each;
  RankedTensorType type;
  /// Which dimension of the result of parts these are: behind those of loops
  /// around them, so that they lie side by side.
  unsigned place = 0;
};

struct SplitSums : impl::SplitSumsBase<SplitSums> {
  using SplitSumsBase::SplitSumsBase;

  void runOnOperation() override {
    if (least < 2) {
      getOperation()->emitOpError("cp-split-sums: least must be 2 terms or "
                                  "more, but is ")
          << int64_t(least) << "; leave it out for 1024";
      return signalPassFailure();
    }
    SmallVector<linalg::ReduceOp> named;
    getOperation().walk([&](linalg::ReduceOp op) { named.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::ReduceOp op : named)
      if (op.hasPureTensorSemantics() && termsOf(op) >= least) {
        rewriter.setInsertionPoint(op);
        (void)linalg::generalizeNamedOp(rewriter, op);
      }
    SmallVector<linalg::GenericOp> found;
    getOperation().walk([&](linalg::GenericOp op) { found.push_back(op); });
    for (linalg::GenericOp op : found)
      if (canSplit(op))
        split(op);
  }

private:
  /// Of each sum; below 0 where that is not known.
  static int64_t termsOf(linalg::LinalgOp op) {
    int64_t terms = 1;
    for (auto [size, kind] :
         llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        terms = ShapedType::isDynamic(size) || terms < 0 ? -1 : terms * size;
    return terms;
  }

  void split(linalg::GenericOp op) {
    std::optional<SumDim> of = dimOf(op);
    if (!of)
      return;
    int64_t terms = termsOf(op);
    if (terms < least)
      return;
    auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
    int64_t sums = std::max<int64_t>(type.getNumElements(), 1);
    int64_t parts = partsOf(of->size, terms, mostElements / sums);
    if (parts == 1)
      return;
    op.getResult(0).replaceAllUsesWith(SumSplitter(op, *of, parts).split());
    op.erase();
  }

  /// Of all parts together.
  static constexpr int64_t mostElements = int64_t(1) << 18;
};

} // namespace
} // namespace cp
