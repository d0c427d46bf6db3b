//===- CompareEach.h - Two programs op by op --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_COMPAREEACH_H
#define CP_EXECUTION_COMPAREEACH_H

#include "cp/Execution/CompareResults.h"

namespace cp {

/// The first element, in the order of ops, ranks and elements, at which a
/// sharded run leaves the run of one rank.
struct Departure {
  /// The result of which op: its `cp.value`, type, and layout. A result of the
  /// module's own has no `cp.value`.
  TensorSpec value;
  int64_t rank = 0;
  /// In the rank's part, and in the whole tensor.
  std::vector<int64_t> localIndex, globalIndex;
  double got = 0, expected = 0;
  /// The error of this rank's part over the magnitude of the whole value, both
  /// as root mean squares, and how much of it is allowed.
  double relativeError = 0, tolerance = 0;
  /// How many elements of this rank's part are off by more than the tolerance
  /// times `scale`, the largest magnitude in the whole value; of how many.
  int64_t wrong = 0, elements = 0;
  double scale = 0;
};

/// What came of comparing each value that both programs expose.
struct EachComparison {
  /// Values that agree on all ranks, before the departure if there is one.
  int64_t agreed = 0;
  std::optional<Departure> departure;
};

/// A program compiled with `exposeValues`, and its run with `keepParts`.
struct ExposedRun {
  llvm::ArrayRef<TensorSpec> results;
  const RunResult &run;
};

/// `toleranceOf` says how large the relative error of a part may be; a single
/// element may be off by a hundred times that, relative to the value's largest
/// one. Of a value that is 0 everywhere the magnitude is a hundredth of that of
/// the last one before it of floating-point numbers.
///
/// Compares each rank's part of each value with the same window of what one
/// rank computed, so that a replica that is wrong on a single rank is found
/// too; then the module's own results in the same way. Values are matched by
/// their numbers; where sharding has repeated one, so is the expected one. NaN
/// agrees with NaN only, an infinity with itself. Errors: no values are
/// exposed; a number names another op, or none, or a value of another type in
/// the other program; other results (see checkSameResults); a run that is not
/// that of its results.
llvm::Expected<EachComparison> compareEach(const ExposedRun &sharded,
                                           const ExposedRun &expected,
                                           const ToleranceOf &toleranceOf);

/// `cp.value` in words: `op 12, cp.ssd (layer 3, model.mlir:13:10)`, or the
/// name of a result of the module's own: `result 'logits'`.
std::string describeValue(const TensorSpec &value);

} // namespace cp

#endif // CP_EXECUTION_COMPAREEACH_H
