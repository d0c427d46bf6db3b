//===- CompareResults.cpp - Results held against others -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/CompareResults.h"

#include "llvm/ADT/STLExtras.h"

namespace cp {

/// "'logits' F32 [1, 64, 24]".
static std::string textOf(const TensorSpec &spec) {
  return "'" + spec.name + "' " + dtypeName(spec.dtype).str() + " " +
         shapeText(spec.shape);
}

static std::string numberOf(size_t count) {
  return std::to_string(count) + (count == 1 ? " result" : " results");
}

/// What a result is called that has no name of its own (see TensorSpec).
static bool isNamed(const TensorSpec &spec, size_t number) {
  return spec.name != "result" + std::to_string(number);
}

llvm::Error checkSameResults(llvm::ArrayRef<TensorSpec> got,
                             llvm::ArrayRef<TensorSpec> expected) {
  constexpr const char *advice =
      "; compare a module with the one that it was made from";
  if (got.size() != expected.size())
    return llvm::createStringError("the module gives " + numberOf(got.size()) +
                                   ", but what it is compared with gives " +
                                   std::to_string(expected.size()) + advice);
  for (size_t i = 0; i < got.size(); ++i) {
    bool sameName = got[i].name == expected[i].name || !isNamed(got[i], i) ||
                    !isNamed(expected[i], i);
    if (!sameName || got[i].dtype != expected[i].dtype ||
        got[i].shape != expected[i].shape)
      return llvm::createStringError(
          "result " + std::to_string(i) + " is " + textOf(got[i]) +
          ", but what it is compared with is " + textOf(expected[i]) + advice);
  }
  return llvm::Error::success();
}

static bool fits(const HostTensor &tensor, const TensorSpec &spec) {
  return tensor.dtype == spec.dtype && tensor.shape == spec.shape;
}

llvm::Expected<ResultsComparison> compareResults(
    llvm::ArrayRef<TensorSpec> specs, llvm::ArrayRef<HostTensor> results,
    llvm::ArrayRef<HostTensor> expected, const ToleranceOf &toleranceOf) {
  if (results.size() != specs.size() || expected.size() != specs.size())
    return llvm::createStringError(
        numberOf(specs.size()) + " to compare, but " +
        std::to_string(results.size()) + " came and " +
        std::to_string(expected.size()) + " were expected");
  ResultsComparison comparison;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!fits(results[i], specs[i]) || !fits(expected[i], specs[i]))
      return llvm::createStringError("result " + std::to_string(i) +
                                     " to compare is not " + textOf(specs[i]));
    Difference difference = compare(results[i], expected[i]);
    comparison.worst = worseOf(comparison.worst, difference);
    double tolerance = toleranceOf(specs[i].dtype);
    // A NaN is too far as well.
    if (comparison.tooFar || difference.relL2 <= tolerance)
      continue;
    comparison.tooFar = i;
    comparison.difference = difference;
    comparison.tolerance = tolerance;
  }
  return comparison;
}

} // namespace cp
