//===- CollectiveCases.h - One call of every collective ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_COLLECTIVECASES_H
#define CP_UNITTESTS_RUNTIME_COLLECTIVECASES_H

#include "Harness.h"

namespace cp::test {

struct Collective {
  static constexpr int64_t numRanks = 4;

  const char *name;
  cprt_op *op;
  /// Of the first input and output.
  Sizes in, out;
  std::function<void(Call &)> addAttrs;
  /// For messages and names of tests, where one op is several collectives.
  const char *variant = "";

  /// Over an axis of so many ranks.
  void run(cprt_context *context, int64_t ranks = numRanks) const;
};

/// A scan; `order` 0 contiguous, 1 zigzag.
Collective scanCase(const char *variant, int64_t algorithm, int64_t order = 0);

/// All that there are: those that move whole tensors, those that hand something
/// on to a neighbour, and scans.
const std::vector<Collective> &collectives();

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_COLLECTIVECASES_H
