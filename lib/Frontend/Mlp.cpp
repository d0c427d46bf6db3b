//===- Mlp.cpp - What stands between the projections of an MLP --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mlp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

/// One op that applies `body` to the elements of `inputs`, which are f32 or
/// better inside.
static Value createElementwise(
    ImplicitLocOpBuilder &builder, ValueRange inputs,
    function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
  auto type = cast<RankedTensorType>(inputs.front().getType());
  Type element = type.getElementType();
  bool isNarrow = element.getIntOrFloatBitWidth() < 32;
  Value out = tensor::EmptyOp::create(builder, type.getShape(), element);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, TypeRange{type}, inputs, ValueRange{out}, maps, loops,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               ImplicitLocOpBuilder b(loc, nested);
               SmallVector<Value> values(args.drop_back());
               for (Value &value : values)
                 if (isNarrow)
                   value = arith::ExtFOp::create(b, b.getF32Type(), value);
               Value result = body(b, values);
               if (isNarrow)
                 result = arith::TruncFOp::create(b, element, result);
               linalg::YieldOp::create(b, result);
             })
      .getResult(0);
}

static Value number(ImplicitLocOpBuilder &b, Value like, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(like.getType(), value));
}

/// exp(-x), but no infinity: where it would be one, the derivative of what is
/// made of it would be 0 times that. Up to the bound it is the same to the bit,
/// and behind it silu is 0 but for 1e-32 of x.
static Value boundedExpOfNegative(ImplicitLocOpBuilder &b, Value x) {
  double most = x.getType().isF64() ? 700 : 80;
  Value bound = number(b, x, most);
  Value exponent =
      arith::MinimumFOp::create(b, arith::NegFOp::create(b, x), bound);
  return math::ExpOp::create(b, exponent);
}

Value createSwiGlu(ImplicitLocOpBuilder &builder, Value gate, Value up) {
  return createElementwise(
      builder, {gate, up}, [](ImplicitLocOpBuilder &b, ValueRange args) {
        Value x = args[0];
        Value exp = boundedExpOfNegative(b, x);
        Value silu = arith::DivFOp::create(
            b, x, arith::AddFOp::create(b, exp, number(b, x, 1)));
        return arith::MulFOp::create(b, silu, args[1]).getResult();
      });
}

Value createSquaredRelu(ImplicitLocOpBuilder &builder, Value x) {
  return createElementwise(
      builder, {x}, [](ImplicitLocOpBuilder &b, ValueRange args) {
        Value positive =
            arith::MaximumFOp::create(b, args[0], number(b, args[0], 0));
        return arith::MulFOp::create(b, positive, positive).getResult();
      });
}

Value createScaled(ImplicitLocOpBuilder &builder, Value x, double factor) {
  if (factor == 1)
    return x;
  return createElementwise(
      builder, {x}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        return arith::MulFOp::create(b, args[0], number(b, args[0], factor))
            .getResult();
      });
}

Value createDivided(ImplicitLocOpBuilder &builder, Value x, double divisor) {
  if (divisor == 1)
    return x;
  return createElementwise(
      builder, {x}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        return arith::DivFOp::create(b, args[0], number(b, args[0], divisor))
            .getResult();
      });
}

} // namespace cp
