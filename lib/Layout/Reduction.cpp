//===- Reduction.cpp - What becomes of partial sums -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Reduction.h"

using namespace cp;

std::optional<Sum> cp::through(Sum operand, Use use) {
  if (operand == Sum::Partial && use == Use::Other)
    return std::nullopt;
  if (use == Use::Unread)
    return Sum::Replicated;
  return operand;
}

std::optional<Sum> cp::add(Sum a, Sum b) {
  if (a != b)
    return std::nullopt;
  return a;
}

std::optional<Sum> cp::multiply(Sum a, Sum b) {
  if (a == Sum::Partial && b == Sum::Partial)
    return std::nullopt;
  return a == Sum::Partial ? a : b;
}
