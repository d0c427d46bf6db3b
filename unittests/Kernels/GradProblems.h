//===- GradProblems.h - Operations with adjoints, drawn -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_GRADPROBLEMS_H
#define CP_UNITTESTS_KERNELS_GRADPROBLEMS_H

#include "GradProblem.h"

namespace cp::kernels::test {

/// Small enough for finite differences of each number, or beyond what kernels
/// take at once.
enum class Extent { Small, Large };

/// What a token leaves of the state: nearly all, some, or, now and then,
/// nothing.
enum class Decay { Slow, Strong, Resets };

Problem convProblem(Random &random, Extent extent);
Problem normProblem(Random &random, Extent extent);
Problem embeddingProblem(Random &random, Extent extent);
Problem ssdProblem(Random &random, Decay decay, Extent extent);
Problem attentionProblem(Random &random, Extent extent);

/// Differences are no derivative at a limit of the step sizes.
bool isNearLimit(Problem &problem);

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_GRADPROBLEMS_H
