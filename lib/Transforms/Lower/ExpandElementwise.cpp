//===- ExpandElementwise.cpp - Ops without machine code ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace cp {
#define GEN_PASS_DEF_EXPANDELEMENTWISE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

Value floatConstant(OpBuilder &builder, Location loc, Type type,
                    const APFloat &value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

struct ExpandSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    Value sin = math::SinOp::create(rewriter, op.getLoc(), x, op.getFastmath());
    Value cos = math::CosOp::create(rewriter, op.getLoc(), x, op.getFastmath());
    rewriter.replaceOp(op, {sin, cos});
    return success();
  }
};

/// Upstream's extension of bf16 leaves it.
struct ExtendFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16())
      return failure();
    Location loc = op.getLoc();
    Type wide = rewriter.getF32Type();
    auto extended = [&](Value value) -> Value {
      return arith::ExtFOp::create(rewriter, loc, wide, value);
    };
    Value c = extended(op.getC()), b = extended(op.getB());
    Value sum = math::FmaOp::create(rewriter, loc, extended(op.getA()), b, c,
                                    op.getFastmath());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), sum);
    return success();
  }
};

/// |x| against infinity, and for normal numbers against the least of them.
template <typename OpTy> struct ExpandClass : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getOperand().getType());
    if (!type)
      return failure();
    Location loc = op.getLoc();
    const llvm::fltSemantics &kind = type.getFloatSemantics();
    auto compare = [&](arith::CmpFPredicate how,
                       const APFloat &limit) -> Value {
      Value size = math::AbsFOp::create(rewriter, loc, op.getOperand());
      return arith::CmpFOp::create(rewriter, loc, how, size,
                                   floatConstant(rewriter, loc, type, limit));
    };
    APFloat infinity = APFloat::getInf(kind);
    if constexpr (std::is_same_v<OpTy, math::IsInfOp>) {
      rewriter.replaceOp(op, compare(arith::CmpFPredicate::OEQ, infinity));
    } else {
      Value below = compare(arith::CmpFPredicate::OLT, infinity);
      Value above = compare(arith::CmpFPredicate::OGE,
                            APFloat::getSmallestNormalized(kind));
      rewriter.replaceOpWithNewOp<arith::AndIOp>(op, below, above);
    }
    return success();
  }
};

/// What an expansion of a number near 0 computes with.
class NearZero {
public:
  NearZero(PatternRewriter &rewriter, Operation *op)
      : rewriter(rewriter), loc(op->getLoc()),
        type(cast<FloatType>(op->getResult(0).getType())) {}

  Value number(double value) const {
    APFloat exact(value);
    bool losesInfo = false;
    exact.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return floatConstant(rewriter, loc, type, exact);
  }
  template <typename OpTy, typename... Values> Value make(Values... of) const {
    return OpTy::create(rewriter, loc, of...);
  }
  /// `known` where x is, and `otherwise` elsewhere.
  Value where(Value x, double is, Value known, Value otherwise) const {
    Value limit = number(is);
    Value isThere = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, limit);
    return make<arith::SelectOp>(isThere, known, otherwise);
  }

private:
  PatternRewriter &rewriter;
  Location loc;
  FloatType type;
};

bool isScalar(Value value) {
  return isa<Float32Type, Float64Type>(value.getType());
}

/// Upstream adds 1 and takes the logarithm, which leaves nothing of what is
/// small. With u = 1 + x rounded, log(u) x / (u - 1) is exact to a few units
/// in the last place (Goldberg, "What Every Computer Scientist Should Know
/// About Floating-Point Arithmetic", 1991, theorem 4).
struct ExpandLog1p : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!isScalar(x))
      return failure();
    NearZero of(rewriter, op);
    Value one = of.number(1);
    Value u = of.make<arith::AddFOp>(x, one);
    Value difference = of.make<arith::SubFOp>(u, one);
    Value ratio = of.make<arith::DivFOp>(x, difference);
    Value log = of.make<math::LogOp>(u);
    Value product = of.make<arith::MulFOp>(log, ratio);
    Value finite = of.where(u, HUGE_VAL, x, product);
    rewriter.replaceOp(op, of.where(u, 1, x, finite));
    return success();
  }
};

/// The same of the exponential, by its inverse: with u = exp(x) rounded,
/// (u - 1) x / log(u) (Higham, "Accuracy and Stability of Numerical
/// Algorithms", 2002, 1.14.1).
struct ExpandExpM1 : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!isScalar(x))
      return failure();
    NearZero of(rewriter, op);
    Value one = of.number(1);
    Value u = of.make<math::ExpOp>(x);
    Value difference = of.make<arith::SubFOp>(u, one);
    Value log = of.make<math::LogOp>(u);
    Value ratio = of.make<arith::DivFOp>(x, log);
    Value product = of.make<arith::MulFOp>(difference, ratio);
    // Far from 0 on either side it is u - 1.
    Value above = of.where(u, HUGE_VAL, u, product);
    Value below = of.where(difference, -1, difference, above);
    rewriter.replaceOp(op, of.where(u, 1, x, below));
    return success();
  }
};

struct ExpandElementwise : impl::ExpandElementwiseBase<ExpandElementwise> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSincos, ExtendFma, ExpandLog1p, ExpandExpM1,
                 ExpandClass<math::IsInfOp>, ExpandClass<math::IsNormalOp>>(
        &getContext());
    math::populateExpansionPatterns(patterns, {"clampf"});
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace cp
