//===- Collectives.h - One local program per collective ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_COLLECTIVES_H
#define CP_UNITTESTS_EXECUTION_COLLECTIVES_H

#include <functional>
#include <string>
#include <vector>

namespace cp::test {

/// Numbers in C order.
using Values = std::vector<float>;

/// A program of one rank, written by hand. It takes d [8] and x [8, 8], both
/// cut along their rows over four ranks.
struct Collective {
  std::string name;
  std::string text;
  /// The whole result, computed from whole arguments by plain loops.
  std::function<Values(const Values &d, const Values &x)> expected;
  /// What the counters call it; empty when nothing travels.
  std::string counter;
};

const std::vector<Collective> &collectives();

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_COLLECTIVES_H
