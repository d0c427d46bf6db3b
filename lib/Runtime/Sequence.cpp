//===- Sequence.cpp - A sequence that is cut over a group -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sequence.h"

using namespace cp::runtime;

Result cp::runtime::readPartsPerRank(const Descriptor &call, int64_t order,
                                     int64_t &parts) {
  parts = order == int64_t(Order::Zigzag) ? 2 : 1;
  if (order < int64_t(Order::Striped))
    return std::nullopt;
  return call.unsupported(
      "attribute 'order' is " + std::to_string(order) +
      " (striped), expected 0 (contiguous) or 1 (zigzag): the tokens before "
      "those of a striped rank are all on other ranks; reorder the sequence "
      "first");
}
