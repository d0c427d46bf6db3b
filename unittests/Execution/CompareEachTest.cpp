//===- CompareEachTest.cpp - Where two programs part ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/CompareEach.h"
#include "TestModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace cp;
using namespace cp::test;

namespace {

double oneThousandth(DType) { return 1e-3; }

/// What an op computes, [2, 4], cut along its columns over two ranks, or not.
TensorSpec valueOf(int64_t number, const char *op, bool isCut) {
  TensorSpec spec;
  spec.value = ExposedValue{number, 0, op, "3", "a.mlir:1:2", {}, {}};
  spec.shape = {2, 4};
  spec.layout.mesh = Mesh{{{"cp", 2}}};
  spec.layout.dims.resize(2);
  if (isCut)
    spec.layout.dims[1] = {Cut{0, Order::Contiguous, 1}};
  return spec;
}

/// The same run on two ranks and on one: values 0 and 1 of the ops "a" (cut)
/// and "b" (replicas), after a result of the module's own.
struct Runs {
  std::vector<TensorSpec> specs = {TensorSpec(), valueOf(0, "a", true),
                                   valueOf(1, "b", false)};
  RunResult sharded, expected;

  Runs() {
    HostTensor whole = floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    specs[0] = valueOf(0, "", false);
    specs[0].value = {};
    specs[0].name = "logits";
    expected.outputs = {whole, whole, whole};
    for (int64_t rank : {0, 1}) {
      auto &parts = sharded.parts.emplace_back();
      for (const TensorSpec &spec : specs)
        parts.push_back(partOf(whole, spec.layout, rank));
    }
  }
  void set(int64_t rank, size_t result, size_t element, float value) {
    std::memcpy(sharded.parts[rank][result].bytes.data() + element * 4, &value,
                4);
  }
  llvm::Expected<EachComparison> compare() const {
    return compareEach({specs, sharded}, {specs, expected}, oneThousandth);
  }
  EachComparison compareOrFail() const {
    auto comparison = compare();
    if (comparison)
      return *comparison;
    ADD_FAILURE() << llvm::toString(comparison.takeError());
    return {};
  }
};

TEST(CompareEachTest, EqualRunsAgree) {
  EachComparison comparison = Runs().compareOrFail();
  EXPECT_EQ(comparison.agreed, 2);
  EXPECT_FALSE(comparison.departure);
}

TEST(CompareEachTest, TheRankAndBothIndicesAreThoseOfTheElement) {
  Runs runs;
  // Row 1, column 1 of rank 1 is column 3 of the whole.
  runs.set(1, 1, 3, 8);
  EachComparison comparison = runs.compareOrFail();
  ASSERT_TRUE(comparison.departure);
  const Departure &found = *comparison.departure;
  EXPECT_EQ(comparison.agreed, 0);
  EXPECT_EQ(describeValue(found.value), "op 0, a (layer 3, a.mlir:1:2)");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.localIndex, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(found.globalIndex, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(found.got, 8);
  EXPECT_EQ(found.expected, 7);
  EXPECT_EQ(found.scale, 7);
  EXPECT_EQ(found.tolerance, 1e-3);
  // One of four is off by 1, and 0 to 7 have a mean square of 17.5.
  EXPECT_DOUBLE_EQ(found.relativeError, 0.5 / std::sqrt(17.5));
  EXPECT_EQ(found.wrong, 1);
  EXPECT_EQ(found.elements, 4);
}

TEST(CompareEachTest, AReplicaThatIsWrongOnOneRankIsFound) {
  Runs runs;
  runs.set(1, 2, 5, 0);
  EachComparison comparison = runs.compareOrFail();
  ASSERT_TRUE(comparison.departure);
  EXPECT_EQ(comparison.agreed, 1);
  EXPECT_EQ(comparison.departure->rank, 1);
  EXPECT_EQ(comparison.departure->globalIndex, (std::vector<int64_t>{1, 1}));
}

TEST(CompareEachTest, RoundingIsAllowedAndNaNIsNot) {
  Runs runs;
  // Half of it is the part's root mean square, of which 4.18e-3 is allowed.
  runs.set(0, 1, 0, 8e-3f);
  EXPECT_FALSE(runs.compareOrFail().departure);
  runs.set(0, 1, 0, 9e-3f);
  EXPECT_TRUE(runs.compareOrFail().departure);
  runs.set(0, 1, 0, NAN);
  EXPECT_TRUE(runs.compareOrFail().departure);
  // What one rank has no number for, none has.
  float nan = NAN;
  std::memcpy(runs.expected.outputs[1].bytes.data(), &nan, 4);
  EXPECT_FALSE(runs.compareOrFail().departure);
  runs.set(0, 1, 0, 0);
  EXPECT_TRUE(runs.compareOrFail().departure);
}

/// What one rank has as 0 may be as much as rounding leaves of terms like those
/// of the value before, of which a hundredth has a root mean square of 4.2e-2.
TEST(CompareEachTest, ZerosHaveTheScaleOfTheValueBefore) {
  Runs runs;
  HostTensor zeros = floats({2, 4}, std::vector<float>(8, 0));
  runs.expected.outputs[2] = zeros;
  for (int64_t rank : {0, 1})
    runs.sharded.parts[size_t(rank)][2] = zeros;
  runs.set(1, 2, 5, 1e-4f);
  EXPECT_FALSE(runs.compareOrFail().departure);
  runs.set(1, 2, 5, 2e-4f);
  EXPECT_TRUE(runs.compareOrFail().departure);
  runs.set(1, 2, 5, 0);
  // Before the first value there is none.
  runs.expected.outputs[1] = zeros;
  for (int64_t rank : {0, 1})
    for (size_t element = 0; element < 4; ++element)
      runs.set(rank, 1, element, element == 1 ? 1e-9f : 0);
  EachComparison comparison = runs.compareOrFail();
  ASSERT_TRUE(comparison.departure);
  EXPECT_EQ(comparison.departure->value.value->number, 0);
}

/// In a large tensor one element changes the norm by nothing.
TEST(CompareEachTest, ASingleElementIsFoundInALargeTensor) {
  Runs runs;
  HostTensor ones = floats({1000, 1000}, std::vector<float>(1000 * 1000, 1.0f));
  runs.specs.erase(runs.specs.begin(), runs.specs.begin() + 2);
  runs.specs[0].shape = ones.shape;
  runs.expected.outputs = {ones};
  for (auto &parts : runs.sharded.parts)
    parts = {ones};
  runs.set(1, 0, 2003, 1.09f);
  EXPECT_FALSE(runs.compareOrFail().departure);
  runs.set(1, 0, 2003, 1.11f);
  EachComparison comparison = runs.compareOrFail();
  ASSERT_TRUE(comparison.departure);
  EXPECT_EQ(comparison.departure->localIndex, (std::vector<int64_t>{2, 3}));
}

TEST(CompareEachTest, RepeatedGroupsAreComparedWithTheirSource) {
  Runs runs;
  std::vector<TensorSpec> specs = runs.specs;
  specs[2].value->repeated = {1, 2, 2};
  specs[2].shape = {2, 8};
  for (auto &parts : runs.sharded.parts)
    parts[2] = floats({2, 8}, {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7});
  auto compare = [&] {
    return compareEach({specs, runs.sharded}, {runs.specs, runs.expected},
                       oneThousandth);
  };
  auto comparison = compare();
  ASSERT_TRUE(static_cast<bool>(comparison));
  EXPECT_EQ(comparison->agreed, 2);
  runs.set(0, 2, 3, 5);
  comparison = compare();
  ASSERT_TRUE(comparison && comparison->departure);
  EXPECT_EQ(comparison->departure->globalIndex, (std::vector<int64_t>{0, 3}));
}

TEST(CompareEachTest, ProgramsThatDoNotMatchAreRefused) {
  auto errorOf = [](const Runs &runs, const std::vector<TensorSpec> &other) {
    auto result = compareEach({runs.specs, runs.sharded},
                              {other, runs.expected}, oneThousandth);
    return result ? "none" : llvm::toString(result.takeError());
  };
  Runs runs;
  std::vector<TensorSpec> other = runs.specs;
  other[1] = valueOf(0, "c", true);
  EXPECT_EQ(errorOf(runs, other),
            "op 0, a (layer 3, a.mlir:1:2): is c in the program of one rank; "
            "compare programs that were made from one module");
  other[1] = valueOf(7, "a", true);
  EXPECT_NE(errorOf(runs, other).find("the program of one rank has no such"),
            std::string::npos);
  runs.expected.outputs[1] = floats({2, 2}, {0, 1, 2, 3});
  EXPECT_NE(errorOf(runs, runs.specs).find("has another type"),
            std::string::npos);
  runs.specs.resize(1);
  runs.expected.outputs.resize(1);
  for (auto &parts : runs.sharded.parts)
    parts.resize(1);
  EXPECT_NE(errorOf(runs, runs.specs).find("exposes no values to compare"),
            std::string::npos);
}

TEST(CompareEachTest, ResultsOfTheModulesOwnAreComparedTooAndMustMatch) {
  Runs runs;
  runs.set(1, 0, 2, 9);
  EachComparison comparison = runs.compareOrFail();
  ASSERT_TRUE(comparison.departure);
  EXPECT_EQ(comparison.agreed, 2);
  EXPECT_EQ(comparison.departure->rank, 1);
  EXPECT_EQ(describeValue(comparison.departure->value), "result 'logits'");
  auto errorOf = [](const Runs &runs, const std::vector<TensorSpec> &other,
                    const RunResult &expected) {
    auto result = compareEach({runs.specs, runs.sharded}, {other, expected},
                              oneThousandth);
    return result ? "none" : llvm::toString(result.takeError());
  };
  std::vector<TensorSpec> other(runs.specs.begin() + 1, runs.specs.end());
  RunResult fewer;
  fewer.outputs.assign(2, runs.expected.outputs[0]);
  EXPECT_EQ(errorOf(runs, other, fewer),
            "the module gives 1 result, but what it is compared with gives 0; "
            "compare a module with the one that it was made from");
  EXPECT_NE(errorOf(runs, runs.specs, fewer).find("the runs are not those"),
            std::string::npos);
  runs.sharded.parts[1].pop_back();
  EXPECT_NE(errorOf(runs, runs.specs, runs.expected).find("the runs are not"),
            std::string::npos);
}

TEST(CompareResultsTest, OtherNumbersNamesTypesAndShapesAreRefused) {
  TensorSpec spec;
  spec.name = "result0";
  spec.shape = {2, 3};
  auto errorOf = [](std::vector<TensorSpec> a, std::vector<TensorSpec> b) {
    llvm::Error error = checkSameResults(a, b);
    return error ? llvm::toString(std::move(error)) : "none";
  };
  TensorSpec named = spec, other = spec, turned = spec, wide = spec;
  named.name = "logits";
  other.name = "states";
  turned.shape = {3, 2};
  wide.dtype = DType::F64;
  EXPECT_EQ(errorOf({spec}, {spec}), "none");
  EXPECT_EQ(errorOf({spec}, {named}), "none");
  EXPECT_EQ(errorOf({named}, {other}),
            "result 0 is 'logits' F32 [2, 3], but what it is compared with is "
            "'states' F32 [2, 3]; compare a module with the one that it was "
            "made from");
  EXPECT_NE(errorOf({spec}, {turned}), "none");
  EXPECT_NE(errorOf({spec}, {wide}), "none");
  EXPECT_NE(errorOf({spec}, {spec, spec}), "none");
  EXPECT_NE(errorOf({spec}, {}), "none");
}

/// Results, and what several ranks hold of them.
RunResult runOf(std::vector<HostTensor> outputs,
                std::vector<std::vector<HostTensor>> parts = {}) {
  RunResult run;
  run.outputs = std::move(outputs);
  run.parts = std::move(parts);
  return run;
}

TEST(CompareResultsTest, EachResultHasTheToleranceOfItsType) {
  TensorSpec coarse, fine;
  coarse.shape = fine.shape = {1};
  fine.dtype = DType::F64;
  auto tolerance = [](DType dtype) { return dtype == DType::F32 ? 0.1 : 1e-9; };
  auto results = [](double a, double b) {
    return std::vector<HostTensor>{fromDoubles(DType::F32, {1}, {a}),
                                   fromDoubles(DType::F64, {1}, {b})};
  };
  auto compare = [&](double a, double b) {
    auto comparison = compareResults({coarse, fine}, runOf(results(a, b)),
                                     results(1, 1), tolerance);
    EXPECT_TRUE(static_cast<bool>(comparison));
    return *comparison;
  };
  EXPECT_FALSE(compare(1.05, 1).tooFar);
  EXPECT_EQ(compare(1.05, 1.01).tooFar, 1u);
  EXPECT_DOUBLE_EQ(compare(1.05, 1.01).tolerance, 1e-9);
  EXPECT_EQ(compare(2, 2).tooFar, 0u);
  EXPECT_EQ(compare(1, NAN).tooFar, 1u);
  auto fails = [&](const RunResult &run, std::vector<HostTensor> expected) {
    return llvm::errorToBool(
        compareResults({coarse, fine}, run, expected, tolerance).takeError());
  };
  std::vector<HostTensor> good = results(1, 1);
  EXPECT_FALSE(fails(runOf(good), good));
  EXPECT_TRUE(fails(runOf(good), {}));
  EXPECT_TRUE(fails(runOf(good), {good[0]}));
  EXPECT_TRUE(fails(runOf(good), {good[0], good[1], good[1]}));
  EXPECT_TRUE(fails(runOf({good[0]}), good));
  // Of what is expected the type may be another one of floating point.
  EXPECT_FALSE(fails(runOf(good), {good[1], good[0]}));
  EXPECT_TRUE(
      fails(runOf(good), {HostTensor::zeros(DType::I32, {1}), good[1]}));
  EXPECT_TRUE(fails(runOf({good[1], good[0]}), good));
  EXPECT_TRUE(fails(runOf(good, {good, {}}), good));
}

TEST(CompareResultsTest, AReplicaThatIsWrongOnOneRankIsFound) {
  TensorSpec spec;
  spec.shape = {2};
  spec.layout.mesh = Mesh{{{"cp", 2}}};
  spec.layout.dims.resize(1);
  HostTensor right = floats({2}, {3, 4}), wrong = floats({2}, {3, 9});
  auto compare = [&](const HostTensor &first, const HostTensor &second) {
    auto comparison = compareResults(
        {spec}, runOf({right}, {{first}, {second}}), {right}, oneThousandth);
    EXPECT_TRUE(static_cast<bool>(comparison));
    return *comparison;
  };
  EXPECT_FALSE(compare(right, right).tooFar);
  EXPECT_TRUE(compare(right, right).worst.bitwiseEqual);
  ResultsComparison found = compare(wrong, right);
  EXPECT_EQ(found.tooFar, 0u);
  EXPECT_EQ(found.rank, 0);
  EXPECT_DOUBLE_EQ(found.worst.relL2, 1);
  // Rounding is allowed here as elsewhere.
  EXPECT_FALSE(compare(right, floats({2}, {3, 4.001f})).tooFar);
}

} // namespace
