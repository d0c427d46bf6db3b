//===- ConvertToCalls.cpp - Runtime ops become calls ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/RowSlices.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace cp {
#define GEN_PASS_DEF_CONVERTTOCALLS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

Value emptyLike(OpBuilder &builder, Location loc, Type type) {
  return tensor::EmptyOp::create(builder, loc, type, ValueRange());
}

/// What stays of the source in a shift, and what comes to it, side by side.
void convert(ShiftTokensOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType type = op.getType();
  int64_t length = type.getDimSize(1), n = op.getWindowRows(),
          stay = std::max<int64_t>(length - n, 0), come = length - stay;
  Value result = emptyLike(builder, loc, type);
  auto copy = [&](Value source, int64_t from, int64_t count, int64_t to) {
    if (count > 0)
      result =
          putRows(builder, loc, sliceRows(builder, loc, source, from, count),
                  result, to);
  };
  // By more than there are, the rows themselves are shifted.
  copy(op.getSource(), op.getDelay() ? 0 : length - stay, stay,
       op.getDelay() ? come : 0);
  copy(op.getRows(), op.getDelay() ? 0 : n - come, come,
       op.getDelay() ? 0 : stay);
  op.replaceAllUsesWith(result);
  op.erase();
}

void convert(RuntimeOpInterface op) {
  OpBuilder builder(op);
  RuntimeCall made(op);
  op.getRuntimeCall(made);
  ArrayRef<Value> inputs = made.getInputs();
  // Those that are left out at the end need no place.
  while (!inputs.empty() && !inputs.back())
    inputs = inputs.drop_back();
  SmallVector<Value> ins, outs;
  SmallVector<int64_t> absent;
  for (auto [place, input] : llvm::enumerate(inputs)) {
    if (input)
      ins.push_back(input);
    else
      absent.push_back(static_cast<int64_t>(place));
  }
  for (Type type : op->getResultTypes())
    outs.push_back(emptyLike(builder, op.getLoc(), type));
  StringRef callback = op.getRuntimeCallback();
  auto call = CallOp::create(
      builder, op.getLoc(), op->getResultTypes(),
      builder.getStringAttr(op.getRuntimeSymbol()),
      ConfigAttr::get(op.getContext(), made.getAttributes()), ins, outs,
      absent.empty() ? DenseI64ArrayAttr()
                     : builder.getDenseI64ArrayAttr(absent),
      callback.empty() ? StringAttr() : builder.getStringAttr(callback),
      isa<UpdateOpInterface>(*op));
  op->replaceAllUsesWith(call.getResults());
  op->erase();
}

/// The operation of the runtime that a contraction is, if it is one:
///   matmul         y[..., n] = sum_k x[..., k] w[n, k] (or w[k, n])
///   contract_rows  y[m, n] = sum_r x[r, m] w[r, n], r of one loop or more
struct Product {
  StringRef symbol;
  /// Of matmul.
  bool transposed = false;
  /// The operands in the operation's order.
  Value x, w;

  static std::optional<Product> match(linalg::LinalgOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (maps.size() != 3 || !llvm::all_of(maps, [](AffineMap m) {
          return m.isProjectedPermutation();
        }))
      return std::nullopt;
    Value x = op.getDpsInputs()[0], w = op.getDpsInputs()[1];
    if (auto found = inOrder(op, maps[0], maps[1], maps[2], x, w))
      return found;
    // Adjoints have the weight first.
    return inOrder(op, maps[1], maps[0], maps[2], w, x);
  }

private:
  static std::optional<Product> inOrder(linalg::LinalgOp op, AffineMap x,
                                        AffineMap w, AffineMap y, Value of,
                                        Value by) {
    if (auto found = projection(op, x, w, y, of, by))
      return found;
    return overRows(op, x, w, y, of, by);
  }

  static std::optional<Product> projection(linalg::LinalgOp op, AffineMap x,
                                           AffineMap w, AffineMap y, Value of,
                                           Value weight) {
    if (op.getNumReductionLoops() != 1 || !haveOneFloatType(op) ||
        w.getNumResults() != 2 || x.getNumResults() != y.getNumResults() ||
        x.getNumResults() == 0 ||
        x.getResults().drop_back() != y.getResults().drop_back())
      return std::nullopt;
    AffineExpr k = x.getResults().back(), n = y.getResults().back();
    if (w.getResult(0) == n && w.getResult(1) == k)
      return Product{"matmul", true, of, weight};
    if (w.getResult(0) == k && w.getResult(1) == n)
      return Product{"matmul", false, of, weight};
    return std::nullopt;
  }

  static std::optional<Product> overRows(linalg::LinalgOp op, AffineMap x,
                                         AffineMap w, AffineMap y, Value of,
                                         Value by) {
    unsigned rows = op.getNumReductionLoops();
    if (rows == 0 || y.getNumResults() != 2 || x.getNumResults() != rows + 1 ||
        w.getNumResults() != rows + 1 || !sumsFloats(op) ||
        x.getResults().drop_back() != w.getResults().drop_back() ||
        x.getResults().back() != y.getResult(0) ||
        w.getResults().back() != y.getResult(1))
      return std::nullopt;
    return Product{"contract_rows", false, of, by};
  }

  static bool haveOneFloatType(linalg::LinalgOp op) {
    Type first = getElementTypeOrSelf(op->getOperand(0).getType());
    return isa<FloatType>(first) &&
           llvm::all_of(op->getOperandTypes(), [&](Type type) {
             return getElementTypeOrSelf(type) == first;
           });
  }

  /// Whether the result is of the type that sums of the operands are kept in.
  static bool sumsFloats(linalg::LinalgOp op) {
    Type x = getElementTypeOrSelf(op.getDpsInputs()[0]),
         w = getElementTypeOrSelf(op.getDpsInputs()[1]),
         y = getElementTypeOrSelf(op.getDpsInits()[0]);
    return x == w && (x.isBF16() || x.isF32() || x.isF64()) && y == sumsOf(x);
  }
};

bool isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

/// A contraction that the runtime has becomes a call; any other is left to
/// loops.
void convertContraction(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return;
  std::optional<Product> product = Product::match(op);
  if (!product)
    return;
  OpBuilder builder(op);
  Value init = op.getDpsInits()[0];
  bool overwrite = isZeroFill(init);
  Value out =
      overwrite ? emptyLike(builder, op.getLoc(), init.getType()) : init;
  RuntimeCall made(op);
  made.flag("accumulate", !overwrite);
  if (product->symbol == "matmul")
    made.flag("transpose_b", product->transposed);
  auto call =
      CallOp::create(builder, op.getLoc(), TypeRange{init.getType()},
                     builder.getStringAttr(product->symbol),
                     ConfigAttr::get(op.getContext(), made.getAttributes()),
                     ValueRange{product->x, product->w}, ValueRange{out},
                     /*absent=*/DenseI64ArrayAttr(),
                     /*callback=*/StringAttr(), /*elementwise=*/false);
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  Operation *fill = init.getDefiningOp();
  if (overwrite && fill->use_empty())
    fill->erase();
}

struct ConvertToCalls : impl::ConvertToCallsBase<ConvertToCalls> {
  void runOnOperation() override {
    bool ok = true;
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      ok &= succeeded(checkConvertible(op));
      ops.push_back(op);
    });
    if (!ok)
      return signalPassFailure();
    for (Operation *op : ops) {
      if (auto runtimeOp = dyn_cast<RuntimeOpInterface>(op)) {
        convert(runtimeOp);
      } else if (auto shift = dyn_cast<ShiftTokensOp>(op)) {
        convert(shift);
      } else if (auto stop = dyn_cast<StopGradientOp>(op)) {
        stop.getResult().replaceAllUsesWith(stop.getSource());
        stop.erase();
      } else if (auto structured = dyn_cast<linalg::LinalgOp>(op);
                 structured && linalg::isaContractionOpInterface(structured)) {
        convertContraction(structured);
      }
    }
  }

private:
  /// Everything that reaches the runtime has known sizes and no layouts. Sizes
  /// that an op and its type disagree on upstream verifies on buffers only.
  static LogicalResult checkConvertible(Operation *op) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (isa<AttentionBlockOp, MambaMixerOp, ReshardOp>(op) ||
        (attention && attention.getMask()))
      return op->emitOpError("is left over; run cp-shard-pipeline (or, for one "
                             "rank, cp-decompose) first");
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
        expand && expand.getStaticOutputShape() != expand.getType().getShape())
      return expand.emitOpError("has an output_shape other than the sizes of "
                                "its result, which is ")
             << expand.getType() << "; write those";
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      if (LayoutAttr::of(tensor))
        return op->emitOpError("still has a layout; run cp-partition first");
      if (!tensor.hasStaticShape())
        return op->emitOpError("has the type ")
               << type << ", but sizes must be known when a program is lowered";
    }
    return success();
  }
};

} // namespace
} // namespace cp
