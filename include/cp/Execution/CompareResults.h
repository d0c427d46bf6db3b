//===- CompareResults.h - Results held against others -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_COMPARERESULTS_H
#define CP_EXECUTION_COMPARERESULTS_H

#include "cp/Execution/Program.h"

#include <functional>
#include <optional>

namespace cp {

/// How large the relative error of a tensor of this type may be.
using ToleranceOf = std::function<double(DType)>;

/// Whether elements of these types can be held against each other as numbers:
/// those of one type, and floating-point ones of any.
bool isComparable(DType got, DType expected);

/// Whether results can be held against others, one by one: as many, of the same
/// types and whole shapes, and of the same names where both have one of their
/// own. The error says what came and what was expected.
llvm::Error checkSameResults(llvm::ArrayRef<TensorSpec> got,
                             llvm::ArrayRef<TensorSpec> expected);

/// What came of comparing all results.
struct ResultsComparison {
  /// The worst in each respect.
  Difference worst{0, 0, true};
  /// The first result that is farther than its own type allows, by its number.
  std::optional<size_t> tooFar;
  /// The rank that holds it so, where others hold something else.
  std::optional<int64_t> rank;
  /// Of that one.
  Difference difference;
  double tolerance = 0;
};

/// Compares the results of a run with what is expected of them, each by the
/// tolerance of its type. A run with keepParts is compared on every rank, so
/// that a replica that is wrong on one of them is found; without, what the last
/// rank holds of a replica counts. Errors: not as many tensors as specs; a
/// tensor of another type or shape than its spec says; what is expected may be
/// of any type that is comparable.
llvm::Expected<ResultsComparison>
compareResults(llvm::ArrayRef<TensorSpec> specs, const RunResult &run,
               llvm::ArrayRef<HostTensor> expected,
               const ToleranceOf &toleranceOf);

} // namespace cp

#endif // CP_EXECUTION_COMPARERESULTS_H
