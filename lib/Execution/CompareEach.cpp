//===- CompareEach.cpp - Two programs op by op ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/CompareEach.h"

#include "cp/Execution/CompareResults.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace cp {
namespace {

/// The number of an op, and of its result.
using Key = std::pair<int64_t, int64_t>;

Key keyOf(const TensorSpec &value) {
  return {value.value->number, value.value->result};
}

/// What one rank computed, by op and result.
using Expected = std::map<Key, size_t>;

Expected indexOf(llvm::ArrayRef<TensorSpec> results) {
  Expected index;
  for (auto [position, spec] : llvm::enumerate(results))
    if (spec.value)
      index[keyOf(spec)] = position;
  return index;
}

/// As a number that can be ordered: what has no distance is infinitely far.
double errorOf(double got, double expected) {
  double error = distanceOf(got, expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

/// The largest finite magnitude and the root mean square of the finite values.
struct Magnitude {
  double largest = 0, rootMeanSquare = 0;

  explicit Magnitude(const std::vector<double> &values) {
    double sum = 0;
    for (double value : values) {
      if (!std::isfinite(value))
        continue;
      largest = std::max(largest, std::fabs(value));
      sum += value * value;
    }
    if (!values.empty())
      rootMeanSquare = std::sqrt(sum / static_cast<double>(values.size()));
  }
};

/// The errors of one rank's part.
struct PartErrors {
  std::vector<double> errors;
  double sumOfSquares = 0, largest = 0;

  PartErrors(const std::vector<double> &got,
             const std::vector<double> &expected) {
    for (auto [a, b] : llvm::zip_equal(got, expected)) {
      errors.push_back(errorOf(a, b));
      largest = std::max(largest, errors.back());
      sumOfSquares += errors.back() * errors.back();
    }
  }
  double rootMeanSquare() const {
    return errors.empty()
               ? 0
               : std::sqrt(sumOfSquares / static_cast<double>(errors.size()));
  }
  /// The first element that is off by more than `allowed`; the worst one when
  /// the error is of many small ones.
  size_t firstAbove(double allowed) const {
    auto first =
        llvm::find_if(errors, [=](double error) { return error > allowed; });
    if (first == errors.end())
      first = std::max_element(errors.begin(), errors.end());
    return first - errors.begin();
  }
};

std::vector<int64_t> globalOf(const std::vector<int64_t> &local,
                              const TensorSpec &value, int64_t rank) {
  std::vector<int64_t> global;
  for (size_t dim = 0; dim < local.size(); ++dim)
    global.push_back(globalIndex(value.layout.mesh, value.layout.dims[dim],
                                 value.shape[dim], rank, local[dim]));
  return global;
}

/// A value of the program of one rank, as large as that of the sharded one.
struct ExpectedValue {
  HostTensor whole;
  /// What there is of each dimension; the rest is padding.
  std::vector<int64_t> sizes;
};

/// Of what is padding nothing is said.
void ignorePadding(const TensorSpec &value, int64_t rank,
                   const HostTensor &part, const std::vector<int64_t> &sizes,
                   std::vector<double> &got, std::vector<double> &expected) {
  bool isPadded = value.shape != sizes;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    isPadded |= paddedSize(value.layout.mesh, value.layout.dims[dim],
                           sizes[dim]) != sizes[dim];
  for (size_t i = 0; isPadded && i < got.size(); ++i) {
    std::vector<int64_t> global =
        globalOf(unravel(int64_t(i), part.shape), value, rank);
    for (auto [at, size] : llvm::zip_equal(global, sizes))
      if (at >= size)
        got[i] = expected[i] = 0;
  }
}

/// Where one rank's part leaves its window of the whole value, if it does.
std::optional<Departure> compareRank(const TensorSpec &value, int64_t rank,
                                     const HostTensor &part,
                                     const ExpectedValue &of,
                                     const Magnitude &magnitude,
                                     double tolerance) {
  std::vector<double> got = part.asDoubles();
  std::vector<double> expected =
      partOf(of.whole, value.layout, rank).asDoubles();
  ignorePadding(value, rank, part, of.sizes, got, expected);
  PartErrors errors(got, expected);
  double allowed = tolerance * magnitude.largest;
  if (errors.largest <= 100 * allowed &&
      errors.rootMeanSquare() <= tolerance * magnitude.rootMeanSquare)
    return std::nullopt;
  size_t first = errors.firstAbove(allowed);
  Departure departure;
  departure.value = value;
  departure.rank = rank;
  departure.localIndex = unravel(static_cast<int64_t>(first), part.shape);
  departure.globalIndex = globalOf(departure.localIndex, value, rank);
  departure.got = got[first];
  departure.expected = expected[first];
  departure.relativeError = errors.rootMeanSquare() / magnitude.rootMeanSquare;
  departure.tolerance = tolerance;
  departure.scale = magnitude.largest;
  departure.wrong = llvm::count_if(
      errors.errors, [=](double error) { return error > allowed; });
  departure.elements = static_cast<int64_t>(got.size());
  return departure;
}

std::optional<Departure> compareValue(const TensorSpec &value, size_t position,
                                      const RunResult &run,
                                      const ExpectedValue &expected,
                                      double tolerance, Magnitude &before) {
  Magnitude magnitude(expected.whole.asDoubles());
  // What is 0 everywhere does not say how much rounding may be there: no more
  // of an element than of the whole, since no other one is large.
  if (magnitude.largest == 0)
    magnitude.largest = magnitude.rootMeanSquare = before.rootMeanSquare / 100;
  else if (value.dtype != DType::I32 && value.dtype != DType::I64)
    before = magnitude;
  for (size_t rank = 0; rank < run.parts.size(); ++rank)
    if (auto found = compareRank(value, static_cast<int64_t>(rank),
                                 run.parts[rank][position], expected, magnitude,
                                 tolerance))
      return found;
  return std::nullopt;
}

llvm::Error unmatched(const TensorSpec &value, const std::string &why) {
  return llvm::createStringError(
      describeValue(value) + ": " + why +
      "; compare programs that were made from one module");
}

/// Where the value stands in the other program.
llvm::Expected<size_t> findIn(const Expected &index,
                              llvm::ArrayRef<TensorSpec> expected,
                              const TensorSpec &value) {
  auto found = index.find(keyOf(value));
  if (found == index.end())
    return unmatched(value, "the program of one rank has no such value");
  const TensorSpec &other = expected[found->second];
  if (other.value->op != value.value->op)
    return unmatched(value,
                     "is " + other.value->op + " in the program of one rank");
  return found->second;
}

/// Whether a dimension of the sharded program's value is that of the other one,
/// or has padding.
bool isPadded(const std::vector<int64_t> &lengths, int64_t size,
              int64_t expected) {
  for (size_t i = 0; i + 1 < lengths.size(); i += 2)
    if (size == lengths[i] && expected == lengths[i + 1])
      return true;
  return size == expected;
}

/// With rows of zeros behind those of a dimension that ranks do not divide.
HostTensor padded(const HostTensor &tensor, const std::vector<int64_t> &shape,
                  const std::vector<int64_t> &lengths) {
  bool fits = tensor.shape.size() == shape.size();
  for (size_t dim = 0; fits && dim < shape.size(); ++dim)
    fits = isPadded(lengths, shape[dim], tensor.shape[dim]);
  if (!fits || tensor.shape == shape)
    return tensor;
  HostTensor result = HostTensor::zeros(tensor.dtype, shape);
  int64_t width = dtypeBytes(tensor.dtype);
  for (int64_t i = 0, end = tensor.numElements(); i < end; ++i) {
    int64_t at = 0;
    for (auto [index, size] : llvm::zip_equal(unravel(i, tensor.shape), shape))
      at = at * size + index;
    std::memcpy(result.bytes.data() + at * width,
                tensor.bytes.data() + i * width, size_t(width));
  }
  return result;
}

/// The whole value, repeated and padded as sharding has done it.
llvm::Expected<ExpectedValue> expectedOf(const TensorSpec &value,
                                         const HostTensor &whole) {
  const std::vector<int64_t> &words = value.value->repeated;
  bool fits = words.size() == 3 && words[0] >= 0 && words[1] > 0 &&
              words[2] > 0 &&
              words[0] < static_cast<int64_t>(whole.shape.size()) &&
              whole.shape[words[0]] % words[1] == 0 &&
              value.shape.size() == whole.shape.size() &&
              value.shape[words[0]] / words[2] == whole.shape[words[0]];
  HostTensor result =
      fits ? repeated(whole, words[0], words[1], words[2]) : whole;
  std::vector<int64_t> sizes = result.shape;
  result = padded(result, value.shape, value.value->padded);
  if (result.dtype != value.dtype || result.shape != value.shape)
    return unmatched(value, "has another type in the program of one rank");
  return ExpectedValue{std::move(result), std::move(sizes)};
}

} // namespace

std::string describeValue(const TensorSpec &value) {
  if (!value.value)
    return "result '" + value.name + "'";
  const ExposedValue &of = *value.value;
  std::string text = "op " + std::to_string(of.number) + ", " + of.op;
  if (of.result > 0)
    text += " result " + std::to_string(of.result);
  return text + " (layer " + of.layer + ", " + of.location + ")";
}

/// Positions of the results that are the module's own.
static std::vector<size_t> ownResults(llvm::ArrayRef<TensorSpec> results) {
  std::vector<size_t> positions;
  for (auto [position, spec] : llvm::enumerate(results))
    if (!spec.value)
      positions.push_back(position);
  return positions;
}

/// Whether both runs have what is compared, and as many own results.
static llvm::Error checkRuns(const ExposedRun &sharded,
                             const ExposedRun &expected) {
  auto hasAll = [&](const std::vector<HostTensor> &part) {
    return part.size() == sharded.results.size();
  };
  if (expected.run.outputs.size() != expected.results.size() ||
      !llvm::all_of(sharded.run.parts, hasAll))
    return llvm::createStringError(
        "the runs are not those of the programs that are compared, or one was "
        "made without keepParts");
  auto own = [](llvm::ArrayRef<TensorSpec> results) {
    std::vector<TensorSpec> specs;
    for (size_t position : ownResults(results))
      specs.push_back(results[position]);
    return specs;
  };
  return checkSameResults(own(sharded.results), own(expected.results));
}

/// The first own result that departs, when all values agree.
static std::optional<Departure> compareOwn(const ExposedRun &sharded,
                                           const ExposedRun &expected,
                                           const ToleranceOf &toleranceOf,
                                           Magnitude &before) {
  for (auto [position, at] : llvm::zip_equal(ownResults(sharded.results),
                                             ownResults(expected.results))) {
    const TensorSpec &value = sharded.results[position];
    const HostTensor &whole = expected.run.outputs[at];
    if (auto found =
            compareValue(value, position, sharded.run, {whole, whole.shape},
                         toleranceOf(value.dtype), before))
      return found;
  }
  return std::nullopt;
}

llvm::Expected<EachComparison> compareEach(const ExposedRun &sharded,
                                           const ExposedRun &expected,
                                           const ToleranceOf &toleranceOf) {
  if (llvm::Error error = checkRuns(sharded, expected))
    return error;
  EachComparison comparison;
  Expected index = indexOf(expected.results);
  bool any = false;
  // Of the value before.
  Magnitude magnitude({});
  for (auto [position, value] : llvm::enumerate(sharded.results)) {
    if (!value.value)
      continue;
    any = true;
    llvm::Expected<size_t> at = findIn(index, expected.results, value);
    if (!at)
      return at.takeError();
    llvm::Expected<ExpectedValue> whole =
        expectedOf(value, expected.run.outputs[*at]);
    if (!whole)
      return whole.takeError();
    comparison.departure = compareValue(value, position, sharded.run, *whole,
                                        toleranceOf(value.dtype), magnitude);
    if (comparison.departure)
      return comparison;
    ++comparison.agreed;
  }
  if (!any)
    return llvm::createStringError(
        "the program exposes no values to compare; make it by cp-opt "
        "--cp-shard-pipeline=\"... expose\", or give the module before it is "
        "sharded");
  comparison.departure = compareOwn(sharded, expected, toleranceOf, magnitude);
  return comparison;
}

} // namespace cp
