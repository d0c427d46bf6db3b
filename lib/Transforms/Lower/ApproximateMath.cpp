//===- ApproximateMath.cpp - Exponentials become polynomials --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace cp {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct ApproximateMath : impl::ApproximateMathBase<ApproximateMath> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    auto isMeant = [this](StringRef name) {
      return all || name == math::ExpOp::getOperationName();
    };
    populateMathPolynomialApproximationPatterns(patterns, isMeant);
    // The patterns take a tensor for a scalar.
    SmallVector<Operation *> functions;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_present<math::MathDialect>(op->getDialect()) &&
          isMeant(op->getName().getStringRef()) && op->getNumResults() == 1 &&
          !isa<TensorType>(op->getResult(0).getType()))
        functions.push_back(op);
    });
    if (failed(applyOpPatternsGreedily(functions, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace cp
