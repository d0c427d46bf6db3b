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
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::ExpOp::getOperationName();
    });
    // The patterns take a tensor for a scalar.
    SmallVector<Operation *> exponentials;
    getOperation()->walk([&](math::ExpOp op) {
      if (!isa<TensorType>(op.getType()))
        exponentials.push_back(op);
    });
    if (failed(applyOpPatternsGreedily(exponentials, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace cp
