//===- GradientCases.h - Programs to differentiate --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_GRADIENTCASES_H
#define CP_UNITTESTS_EXECUTION_GRADIENTCASES_H

#include "cp/Execution/HostTensor.h"
#include "cp/Execution/Program.h"
#include "cp/Transforms/Passes.h"
#include "cp/Transforms/Sharding.h"

#include <ostream>
#include <string>
#include <vector>

namespace cp::test {

/// A program up to %y, of this shape.
struct GradientCase {
  const char *name;
  std::vector<int64_t> shape;
  const char *text;
  /// More heads than groups, or keys' heads, of which there are two.
  bool hasTwoGroups = false;
};
void PrintTo(const GradientCase &testCase, std::ostream *os);

/// One of each kind of op that has an adjoint.
const std::vector<GradientCase> &gradientCases();

/// The program, which gives the sum of the squares of %y.
std::string textOf(const GradientCase &testCase);

/// Both strategies, every form of attention, every order, on 2 and on 4 ranks,
/// and heads inside a ring.
std::vector<Sharding> gradientShardings();
std::string describe(const Sharding &sharding);

/// How a program becomes one without layouts, or one rank's with them.
using AddPasses = llvm::function_ref<void(mlir::OpPassManager &)>;

/// Cuts a program, differentiates what came of it, and compiles that; null
/// after a test failure.
std::unique_ptr<Program> cutAndDifferentiated(llvm::StringRef text,
                                              AddPasses cut,
                                              const DifferentiateOptions &how);

/// Each argument of f64 in [-1, 1), ids in the same small vocabulary.
std::vector<HostTensor> drawForGradients(llvm::ArrayRef<TensorSpec> specs);

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_GRADIENTCASES_H
