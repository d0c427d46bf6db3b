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

bool isComparable(DType got, DType expected) {
  auto isFloat = [](DType dtype) {
    return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16;
  };
  return got == expected || (isFloat(got) && isFloat(expected));
}

static bool fits(const HostTensor &tensor, const TensorSpec &spec) {
  return tensor.dtype == spec.dtype && tensor.shape == spec.shape;
}

static bool isComparable(const HostTensor &tensor, const TensorSpec &spec) {
  return isComparable(tensor.dtype, spec.dtype) && tensor.shape == spec.shape;
}

/// Notes how far a result is, as `rank` holds it, or all.
static void note(ResultsComparison &comparison, size_t result,
                 std::optional<int64_t> rank, const Difference &difference,
                 double tolerance) {
  comparison.worst = worseOf(comparison.worst, difference);
  // A NaN is too far as well.
  if (comparison.tooFar || difference.relL2 <= tolerance)
    return;
  comparison.tooFar = result;
  comparison.rank = rank;
  comparison.difference = difference;
  comparison.tolerance = tolerance;
}

/// Notes what ranks hold of result `i` where that is not what the whole has.
static void noteReplicas(ResultsComparison &comparison, size_t i,
                         const TensorSpec &spec, const RunResult &run,
                         const HostTensor &expected, double tolerance) {
  for (size_t rank = 0; rank < run.parts.size(); ++rank) {
    auto number = static_cast<int64_t>(rank);
    const HostTensor &part = run.parts[rank][i];
    if (partOf(run.outputs[i], spec.layout, number).bytes == part.bytes)
      continue;
    HostTensor other = run.outputs[i];
    putPart(part, spec.layout, number, other);
    note(comparison, i, number, compare(other, expected), tolerance);
  }
}

static llvm::Error checkCounts(llvm::ArrayRef<TensorSpec> specs,
                               const RunResult &run,
                               llvm::ArrayRef<HostTensor> expected) {
  bool complete = llvm::all_of(run.parts, [&](const auto &parts) {
    return parts.size() == specs.size();
  });
  if (run.outputs.size() == specs.size() && expected.size() == specs.size() &&
      complete)
    return llvm::Error::success();
  return llvm::createStringError(
      numberOf(specs.size()) + " to compare, but " +
      std::to_string(run.outputs.size()) + " came and " +
      std::to_string(expected.size()) + " were expected");
}

llvm::Expected<ResultsComparison>
compareResults(llvm::ArrayRef<TensorSpec> specs, const RunResult &run,
               llvm::ArrayRef<HostTensor> expected,
               const ToleranceOf &toleranceOf) {
  if (llvm::Error error = checkCounts(specs, run, expected))
    return error;
  ResultsComparison comparison;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!fits(run.outputs[i], specs[i]) || !isComparable(expected[i], specs[i]))
      return llvm::createStringError("result " + std::to_string(i) +
                                     " to compare is not " + textOf(specs[i]));
    double tolerance = toleranceOf(specs[i].dtype);
    note(comparison, i, std::nullopt, compare(run.outputs[i], expected[i]),
         tolerance);
    noteReplicas(comparison, i, specs[i], run, expected[i], tolerance);
  }
  return comparison;
}

} // namespace cp
