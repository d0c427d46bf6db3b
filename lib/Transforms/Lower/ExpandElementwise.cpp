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

/// Upstream takes 1 from the exponential, which leaves nothing of what is
/// small. With u = exp(x) rounded, (u - 1) x / log(u) is exact to a few units
/// in the last place (Higham, "Accuracy and Stability of Numerical Algorithms",
/// 2002, 1.14.1).
struct ExpandExpM1 : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    auto type = dyn_cast<FloatType>(x.getType());
    if (!type)
      return failure();
    Location loc = op.getLoc();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getFloatAttr(type, value));
    };
    // `known` where `value` is `is`, and `otherwise` elsewhere.
    auto where = [&](Value value, double is, Value known, Value otherwise) {
      Value limit = number(is);
      Value isThere = arith::CmpFOp::create(
          rewriter, loc, arith::CmpFPredicate::OEQ, value, limit);
      return Value(
          arith::SelectOp::create(rewriter, loc, isThere, known, otherwise));
    };
    Value one = number(1);
    Value u = math::ExpOp::create(rewriter, loc, x);
    Value difference = arith::SubFOp::create(rewriter, loc, u, one);
    Value log = math::LogOp::create(rewriter, loc, u);
    Value ratio = arith::DivFOp::create(rewriter, loc, x, log);
    Value product = arith::MulFOp::create(rewriter, loc, difference, ratio);
    // Far from 0 on either side it is u - 1.
    Value above = where(u, HUGE_VAL, u, product);
    Value below = where(difference, -1, difference, above);
    rewriter.replaceOp(op, where(u, 1, x, below));
    return success();
  }
};

struct ExpandElementwise : impl::ExpandElementwiseBase<ExpandElementwise> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSincos, ExtendFma, ExpandExpM1,
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
