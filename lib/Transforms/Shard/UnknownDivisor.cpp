//===- UnknownDivisor.cpp - Ops that rows of padding could end ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnknownDivisor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cp {

bool hasUnknownDivisor(Operation *op) {
  WalkResult result = op->walk([](Operation *inner) {
    if (!isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(inner))
      return WalkResult::advance();
    APInt divisor;
    bool isKnown =
        matchPattern(inner->getOperand(1), m_ConstantInt(&divisor)) &&
        !divisor.isZero();
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

} // namespace cp
