//===- Scalars.cpp - Derivatives of arithmetic ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table for numbers, for tensors of them, and for the bodies of structured
// ops. A rule says what of the result's cotangent `d` an operand gets; `x` are
// the operands and `y` is the result.
//
// Source of the derivatives: Abramowitz and Stegun, "Handbook of Mathematical
// Functions", 3.3, 4.1 to 4.5 and 7.1.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace cp {
namespace {

/// A value with the operators that rules are written in. Of an operator's two
/// operands only one may make ops: compilers differ in which they begin with.
struct Term {
  OpBuilder *builder;
  Location loc;
  Value value;

  template <typename OpTy> Term binary(const Term &other) const {
    return {builder, loc, OpTy::create(*builder, loc, value, other.value)};
  }
  template <typename OpTy> Term unary() const {
    return {builder, loc, OpTy::create(*builder, loc, value)};
  }
  Term number(double constant) const {
    return {builder, loc, constantOf(*builder, loc, value.getType(), constant)};
  }
  Term as(Type element) const {
    return {builder, loc, withElements(*builder, loc, value, element)};
  }
};
Term operator+(const Term &a, const Term &b) {
  return a.binary<arith::AddFOp>(b);
}
Term operator-(const Term &a, const Term &b) {
  return a.binary<arith::SubFOp>(b);
}
Term operator*(const Term &a, const Term &b) {
  return a.binary<arith::MulFOp>(b);
}
Term operator/(const Term &a, const Term &b) {
  return a.binary<arith::DivFOp>(b);
}
Term operator-(const Term &a) { return a.unary<arith::NegFOp>(); }
Term operator*(const Term &a, double b) { return a * a.number(b); }
Term operator+(const Term &a, double b) { return a + a.number(b); }
Term operator-(double a, const Term &b) { return b.number(a) - b; }

/// What a rule reads.
struct Rule {
  AdjointContext &context;
  Operation *op;
  /// The result's cotangent.
  Term d;

  Term term(Value value) const {
    return {&context.getBuilder(), context.getLoc(), value};
  }
  Term x(unsigned operand = 0) const { return term(op->getOperand(operand)); }
  Term y() const { return term(op->getResult(0)); }

  /// `d` where `left` is above `right`, and elsewhere `rest`, or 0.
  Term whereAbove(const Term &left, const Term &right) const {
    Term zero = d.number(0);
    return whereAbove(left, right, zero);
  }
  Term whereAbove(const Term &left, const Term &right, const Term &rest) const {
    return select(compare(arith::CmpFPredicate::OGT, left, right), d, rest);
  }
  /// Half of `d` where they are equal, and 0 elsewhere.
  Term halfWhereEqual(const Term &left, const Term &right) const {
    Term zero = d.number(0), half = d * 0.5;
    return select(compare(arith::CmpFPredicate::OEQ, left, right), half, zero);
  }
  Value compare(arith::CmpFPredicate predicate, const Term &left,
                const Term &right) const {
    return arith::CmpFOp::create(context.getBuilder(), context.getLoc(),
                                 predicate, left.value, right.value);
  }
  Term select(Value condition, const Term &yes, const Term &no) const {
    return term(arith::SelectOp::create(context.getBuilder(), context.getLoc(),
                                        condition, yes.value, no.value));
  }
};

/// What operand number `operand` gets of `r.d`.
using RuleFn = Term (*)(const Rule &r, unsigned operand);

template <typename OpTy, RuleFn rule>
struct Scalar : AdjointOpInterface::ExternalModel<Scalar<OpTy, rule>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, AdjointContext &context) const {
    Value cotangent = context.cotangent();
    if (!cotangent)
      return success();
    Rule r = {
        context, op, {&context.getBuilder(), context.getLoc(), cotangent}};
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (context.isWanted(i))
        context.add(i, rule(r, i).value);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

Term add(const Rule &r, unsigned) { return r.d; }
Term subtract(const Rule &r, unsigned i) { return i == 0 ? r.d : -r.d; }
Term multiply(const Rule &r, unsigned i) { return r.d * r.x(1 - i); }
Term divide(const Rule &r, unsigned i) {
  return i == 0 ? r.d / r.x(1) : -(r.d * r.y() / r.x(1));
}
Term negate(const Rule &r, unsigned) { return -r.d; }
Term convert(const Rule &r, unsigned) {
  return r.d.as(getElementTypeOrSelf(r.x().value));
}
bool isConstant(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  return matchPattern(value, m_Constant());
}

/// The one of `left` and `right` that is above gets it. Where they are equal
/// each gets half, as of torch's maximum; beside a constant nothing, as of its
/// relu.
Term above(const Rule &r, const Term &left, const Term &right) {
  if (llvm::any_of(r.op->getOperands(), isConstant))
    return r.whereAbove(left, right);
  return r.whereAbove(left, right, r.halfWhereEqual(left, right));
}
Term maximum(const Rule &r, unsigned i) { return above(r, r.x(i), r.x(1 - i)); }
Term minimum(const Rule &r, unsigned i) { return above(r, r.x(1 - i), r.x(i)); }
Term choose(const Rule &r, unsigned i) {
  Term zero = r.d.number(0);
  return i == 1 ? r.select(r.x(0).value, r.d, zero)
                : r.select(r.x(0).value, zero, r.d);
}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

Term exp(const Rule &r, unsigned) { return r.d * r.y(); }
Term exp2(const Rule &r, unsigned) { return r.d * r.y() * M_LN2; }
Term expm1(const Rule &r, unsigned) { return r.d * (r.y() + 1); }
Term log(const Rule &r, unsigned) { return r.d / r.x(); }
Term log2(const Rule &r, unsigned) { return r.d / (r.x() * M_LN2); }
Term log10(const Rule &r, unsigned) { return r.d / (r.x() * M_LN10); }
Term log1p(const Rule &r, unsigned) { return r.d / (r.x() + 1); }
Term sqrt(const Rule &r, unsigned) { return r.d / (r.y() * 2); }
Term rsqrt(const Rule &r, unsigned) {
  Term twice = r.x() * 2;
  return -(r.d * r.y() / twice);
}
Term sin(const Rule &r, unsigned) { return r.d * r.x().unary<math::CosOp>(); }
Term cos(const Rule &r, unsigned) {
  return -(r.d * r.x().unary<math::SinOp>());
}
Term tanh(const Rule &r, unsigned) { return r.d * (1 - r.y() * r.y()); }
Term erf(const Rule &r, unsigned) {
  Term bell = (-(r.x() * r.x())).unary<math::ExpOp>();
  return r.d * bell * M_2_SQRTPI;
}
Term absolute(const Rule &r, unsigned) {
  Term zero = r.d.number(0);
  Term ofNegative = r.whereAbove(zero, r.x());
  return r.whereAbove(r.x(), zero) - ofNegative;
}
/// d/dx x^p = p x^(p - 1), d/dp x^p = x^p log x.
Term power(const Rule &r, unsigned i) {
  Term x = r.x(0), p = r.x(1);
  Term factor =
      i == 0 ? x.binary<math::PowFOp>(p + -1) : x.unary<math::LogOp>();
  return r.d * (i == 0 ? p : r.y()) * factor;
}
Term fusedMultiplyAdd(const Rule &r, unsigned i) {
  return i == 2 ? r.d : r.d * r.x(1 - i);
}

template <typename OpTy, RuleFn rule> void attach(MLIRContext *context) {
  OpTy::template attachInterface<Scalar<OpTy, rule>>(*context);
}

void attachArith(MLIRContext *context, arith::ArithDialect *) {
  attach<arith::AddFOp, add>(context);
  attach<arith::SubFOp, subtract>(context);
  attach<arith::MulFOp, multiply>(context);
  attach<arith::DivFOp, divide>(context);
  attach<arith::NegFOp, negate>(context);
  attach<arith::ExtFOp, convert>(context);
  attach<arith::TruncFOp, convert>(context);
  attach<arith::MaximumFOp, maximum>(context);
  attach<arith::MaxNumFOp, maximum>(context);
  attach<arith::MinimumFOp, minimum>(context);
  attach<arith::MinNumFOp, minimum>(context);
  attach<arith::SelectOp, choose>(context);
}

void attachMath(MLIRContext *context, math::MathDialect *) {
  attach<math::ExpOp, exp>(context);
  attach<math::Exp2Op, exp2>(context);
  attach<math::ExpM1Op, expm1>(context);
  attach<math::LogOp, log>(context);
  attach<math::Log2Op, log2>(context);
  attach<math::Log10Op, log10>(context);
  attach<math::Log1pOp, log1p>(context);
  attach<math::SqrtOp, sqrt>(context);
  attach<math::RsqrtOp, rsqrt>(context);
  attach<math::SinOp, sin>(context);
  attach<math::CosOp, cos>(context);
  attach<math::TanhOp, tanh>(context);
  attach<math::ErfOp, erf>(context);
  attach<math::AbsFOp, absolute>(context);
  attach<math::PowFOp, power>(context);
  attach<math::FmaOp, fusedMultiplyAdd>(context);
}

} // namespace

void registerScalarAdjoints(DialectRegistry &registry) {
  registry.addExtension(attachArith);
  registry.addExtension(attachMath);
}

} // namespace cp
