//===- GradTest.cpp - Adjoints against finite differences -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"
#include "GradProblem.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// Places of a row that begins within a document and has borders.
void addPlaces(Problem &problem, int64_t b, int64_t l, Random &random) {
  problem.hasPlaces = true;
  problem.places = Tensor<int64_t>({b, l}, Lay::Dense, random);
  for (int64_t row = 0; row < b; ++row) {
    int64_t place = pick(random, 0, 3);
    for (int64_t t = 0; t < l; ++t, ++place) {
      if (t > 0 && pick(random, 0, 3) == 0)
        place = 0;
      problem.places(row, t) = place;
    }
  }
}

Problem convProblem(Random &random) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = pick(random, 1, 9),
          c = pick(random, 1, 3), w = pick(random, 1, 5);
  problem.op = "conv1d";
  problem.ins = {"x", "weight", "bias", "initial", "places"};
  problem.gradIns = {"x", "weight", "y", "bias", "initial", "places"};
  problem.gradOuts = {"dx", "dweight", "dbias", "dinitial"};
  problem.attrs = {pick(random, 0, 1)};
  problem.add("x", {b, l, c}, random);
  problem.add("weight", {c, w}, random);
  problem.sizes["dbias"] = {c};
  problem.sizes["dinitial"] = {b, w - 1, c};
  if (pick(random, 0, 1))
    problem.add("bias", {c}, random);
  if (pick(random, 0, 1))
    problem.add("initial", {b, w - 1, c}, random);
  if (pick(random, 0, 1))
    addPlaces(problem, b, l, random);
  problem.addOut("y", {b, l, c}, random);
  return problem;
}

TEST(GradTest, Conv1d) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = convProblem(random);
    problem.differentiate(random);
    problem.check();
  }
}

Problem normProblem(Random &random) {
  Problem problem;
  int64_t groups = pick(random, 1, 3), c = groups * pick(random, 1, 4);
  std::vector<int64_t> size = {2, pick(random, 0, 3), c};
  bool hasGate = pick(random, 0, 1);
  problem.op = "rms_norm";
  problem.ins = {"x", "weight", "gate"};
  problem.gradIns = {"x", "y", "weight", "gate"};
  problem.gradOuts = {"dx", "dweight"};
  problem.attrs = {bitsOf(0.1), pick(random, 0, 1), groups};
  problem.add("x", size, random);
  problem.sizes["dweight"] = {c};
  if (pick(random, 0, 1))
    problem.add("weight", {c}, random);
  if (hasGate) {
    problem.add("gate", size, random);
    problem.gradOuts.push_back("dgate");
  }
  problem.addOut("y", size, random);
  return problem;
}

TEST(GradTest, RmsNorm) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = normProblem(random);
    problem.differentiate(random);
    problem.check();
  }
}

Problem embeddingProblem(Random &random) {
  Problem problem;
  int64_t v = pick(random, 1, 5), d = pick(random, 1, 4);
  problem.op = "embedding";
  problem.ins = {"ids", "table"};
  problem.gradIns = {"ids", "y"};
  problem.gradOuts = {"dtable"};
  problem.hasIds = true;
  problem.ids = Tensor<int64_t>({2, 7}, pickLay(random), random);
  for (int64_t i = 0; i < 14; ++i)
    problem.ids[i] = pick(random, 0, v - 1);
  problem.add("table", {v, d}, random);
  problem.addOut("y", {2, 7, d}, random);
  return problem;
}

TEST(GradTest, Embedding) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = embeddingProblem(random);
    problem.differentiate(random);
    problem.check();
  }
}

/// What a token leaves of the state: nearly all, some, or, now and then,
/// nothing.
enum class Decay { Slow, Strong, Resets };

Problem ssdProblem(Random &random, Decay decay) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = pick(random, 1, 9),
          g = pick(random, 1, 2), h = g * pick(random, 1, 2),
          p = pick(random, 1, 3), n = pick(random, 1, 3);
  bool isLimited = pick(random, 0, 1);
  problem.op = "ssd";
  problem.ins = {"x", "dt",      "A_log",   "B",     "C",
                 "D", "dt_bias", "initial", "places"};
  problem.gradIns = {"x", "dt",      "A_log",   "B",     "C",     "y",
                     "D", "dt_bias", "initial", "state", "places"};
  problem.gradOuts = {"dx", "ddt", "dA_log",   "dB",
                      "dC", "dD",  "ddt_bias", "dinitial"};
  problem.attrs = {
      pick(random, 1, 4),
      bitsOf(isLimited ? 0.8 : std::numeric_limits<double>::infinity()),
      bitsOf(isLimited ? 0.2 : 0)};
  problem.add("x", {b, l, h, p}, random);
  problem.add("dt", {b, l, h}, random, -2, 1);
  double low = decay == Decay::Slow ? -6 : -1;
  problem.add("A_log", {h}, random, low, low + 2);
  problem.add("B", {b, l, g, n}, random);
  problem.add("C", {b, l, g, n}, random);
  if (decay == Decay::Resets)
    for (int64_t i = 0; i < b * l * h; ++i)
      if (pick(random, 0, 3) == 0)
        problem.tensors["dt"][i] = 40;
  problem.sizes["dD"] = {h, p};
  problem.sizes["ddt_bias"] = {h};
  problem.sizes["dinitial"] = {b, h, p, n};
  if (pick(random, 0, 1))
    problem.add("D",
                pick(random, 0, 1) ? std::vector<int64_t>{h}
                                   : std::vector<int64_t>{h, p},
                random);
  if (pick(random, 0, 1))
    problem.add("dt_bias", {h}, random);
  if (pick(random, 0, 1))
    problem.add("initial", {b, h, p, n}, random);
  if (pick(random, 0, 1))
    addPlaces(problem, b, l, random);
  problem.addOut("y", {b, l, h, p}, random);
  problem.addOut("state", {b, h, p, n}, random);
  return problem;
}

/// Differences are no derivative at a limit of the step sizes.
bool isNearLimit(Problem &problem) {
  Doubles &dt = problem.tensors["dt"];
  int64_t heads = dt.sizes[2];
  for (int64_t i = 0; i < dt.count(); ++i) {
    double bias = problem.tensors.count("dt_bias")
                      ? problem.tensors["dt_bias"][i % heads]
                      : 0;
    double step = std::log1p(std::exp(dt[i] + bias));
    if (std::fabs(step - 0.2) < 0.01 || std::fabs(step - 0.8) < 0.01)
      return true;
  }
  return false;
}

TEST(GradTest, Ssd) {
  int checked = 0;
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", decay " << int(decay));
      Random random(seed);
      Problem problem = ssdProblem(random, decay);
      if (isNearLimit(problem))
        continue;
      ++checked;
      problem.differentiate(random);
      problem.check();
    }
  EXPECT_GT(checked, 60);
}

/// What a rank's tokens alone pass back to the state in front of them is what
/// the whole adjoint does where nothing is behind them.
TEST(GradTest, SsdStates) {
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    for (uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", decay " << int(decay));
      Random random(seed);
      Problem problem = ssdProblem(random, decay);
      problem.gradIns[9] = "nothing";
      problem.differentiate(random);
      Doubles &want = problem.gradients["dinitial"];
      Doubles got(want.sizes, pickLay(random), random);
      ASSERT_EQ(test::run(findCpuKernel("ssd_grad_states", DType::F64,
                                        KernelSet::Reference),
                          problem.buffersOf(
                              {"y", "dt", "A_log", "C", "dt_bias", "places"}),
                          {got.buffer()}, problem.attrs),
                "");
      EXPECT_TRUE(got.isIntact());
      for (int64_t i = 0; i < want.count(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-12 * (1 + std::fabs(want[i]))) << i;
    }
}

Problem attentionProblem(Random &random) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = pick(random, 1, 7),
          hkv = pick(random, 1, 2), hq = hkv * pick(random, 1, 2),
          d = pick(random, 1, 3), dv = pick(random, 1, 3);
  bool causal = pick(random, 0, 2);
  int64_t s = causal ? l : pick(random, 1, 7);
  int64_t window = causal && pick(random, 0, 1) ? pick(random, 1, 4) : 0;
  problem.op = "attention";
  problem.ins = {"q", "k", "v", "places"};
  problem.gradIns = {"q",           "k",   "v",   "results out",
                     "results lse", "out", "lse", "places"};
  problem.gradOuts = {"dq", "dk", "dv"};
  problem.attrs = {causal, bitsOf(0.7), window, 3, 0, l, 1, 3, 0, s, 1};
  problem.gradAttrs = {causal, bitsOf(0.7), window};
  problem.add("q", {b, l, hq, d}, random);
  problem.add("k", {b, s, hkv, d}, random);
  problem.add("v", {b, s, hkv, dv}, random);
  if (causal && pick(random, 0, 1)) {
    addPlaces(problem, b, l, random);
    // The first row is the first of its sequence: no key is in front of it.
    for (int64_t row = 0; row < b; ++row)
      for (int64_t t = 0, place = 0; t < l; ++t) {
        place = t && problem.places(row, t) ? place + 1 : 0;
        problem.places(row, t) = place;
      }
  }
  problem.addOut("out", {b, l, hq, dv}, random);
  problem.addOut("lse", {b, hq, l}, random);
  return problem;
}

TEST(GradTest, Attention) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = attentionProblem(random);
    problem.differentiate(random);
    problem.check();
  }
}

/// What is not a number in one document reaches no gradient of another's.
TEST(GradTest, DocumentsKeepToThemselves) {
  for (bool isScan : {false, true}) {
    SCOPED_TRACE(isScan ? "ssd" : "conv1d");
    Random random(3);
    Problem problem;
    do
      problem = isScan ? ssdProblem(random, Decay::Slow) : convProblem(random);
    while (problem.tensors["x"].sizes[1] < 9 || problem.hasPlaces);
    int64_t b = problem.tensors["x"].sizes[0];
    problem.hasPlaces = true;
    problem.places = Tensor<int64_t>({b, 9}, Lay::Dense, random);
    for (int64_t row = 0; row < b; ++row)
      for (int64_t t = 0; t < 9; ++t)
        problem.places(row, t) = t % 3;
    problem.differentiate(random);
    std::map<std::string, Doubles> before = problem.gradients;
    Doubles &x = problem.tensors["x"];
    int64_t eachRow = x.count() / (b * 9);
    for (int64_t t = 3; t < 6; ++t)
      for (int64_t i = 0; i < eachRow; ++i)
        x[t * eachRow + i] = std::numeric_limits<double>::quiet_NaN();
    problem.differentiate(random);
    for (int64_t i = 0; i < x.count(); ++i)
      if (i / eachRow < 3 || i / eachRow >= 6)
        EXPECT_EQ(problem.gradients["dx"][i], before["dx"][i]) << i;
  }
}

/// Sums are kept in f32, and rounded once: against the same numbers in f64.
template <typename T> void checkRounding(Problem &problem, double tolerance) {
  Random random(5);
  std::map<std::string, Tensor<T>> narrow;
  bool isScan = problem.op == "ssd";
  // What is kept in the type of sums.
  std::map<std::string, Tensor<AccumulatorOf<T>>> wide;
  auto round = [&](const std::string &name, Doubles &tensor) {
    Tensor<T> rounded(tensor.sizes, Lay::Dense, random);
    Tensor<AccumulatorOf<T>> kept(tensor.sizes, Lay::Dense, random);
    bool isKept = name == "state" || name == "lse" || name == "results lse" ||
                  (name == "initial" && isScan);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      rounded[i] = T(float(tensor[i]));
      kept[i] =
          isKept ? AccumulatorOf<T>(tensor[i]) : AccumulatorOf<T>(rounded[i]);
      tensor[i] = double(kept[i]);
    }
    if (isKept)
      wide[name] = std::move(kept);
    else
      narrow[name] = std::move(rounded);
  };
  for (auto *tensors : {&problem.tensors, &problem.cotangents})
    for (auto &[name, tensor] : *tensors)
      round(name, tensor);
  problem.loss();
  // Adjoints get what the operation has stored.
  for (auto &[name, tensor] : problem.results)
    round(name, tensor);
  problem.callAdjoint(random);
  std::vector<Buffer> ins, outs;
  for (const std::string &name : problem.gradIns)
    ins.push_back(wide.count(name)     ? wide[name].buffer()
                  : narrow.count(name) ? narrow[name].buffer()
                                       : problem.find(name));
  std::map<std::string, Tensor<T>> results;
  std::map<std::string, Tensor<AccumulatorOf<T>>> sums;
  auto isSum = [&](const std::string &name) {
    return name == "dweight" || name == "dbias" || name == "dA_log" ||
           name == "dD" || name == "ddt_bias" || name == "dtable" ||
           name == "dk" || name == "dv" || (name == "dinitial" && isScan);
  };
  for (const std::string &name : problem.gradOuts) {
    const auto &size = problem.gradients[name].sizes;
    if (isSum(name))
      sums[name] = Tensor<AccumulatorOf<T>>(size, Lay::Dense, random);
    else
      results[name] = Tensor<T>(size, Lay::Dense, random);
  }
  for (const std::string &name : problem.gradOuts)
    outs.push_back(isSum(name) ? sums[name].buffer() : results[name].buffer());
  ASSERT_EQ(
      test::run(findCpuKernel((problem.op + "_grad").c_str(), Element<T>::dtype,
                              KernelSet::Reference),
                ins, outs,
                problem.gradAttrs.empty() ? problem.attrs : problem.gradAttrs),
      "");
  for (const std::string &name : problem.gradOuts) {
    double error = 0, norm = 0;
    for (int64_t i = 0; i < problem.gradients[name].count(); ++i) {
      double want = problem.gradients[name][i];
      double got = isSum(name) ? double(sums[name][i])
                               : double(AccumulatorOf<T>(results[name][i]));
      error += (got - want) * (got - want);
      norm += want * want;
    }
    EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30) << name;
  }
}

TEST(GradTest, RoundsOnce) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem conv = convProblem(random);
    checkRounding<float>(conv, 2e-6);
    checkRounding<BFloat16>(conv, 4e-3);
    Problem norm = normProblem(random);
    checkRounding<float>(norm, 2e-5);
    checkRounding<BFloat16>(norm, 4e-3);
    Problem embedding = embeddingProblem(random);
    checkRounding<float>(embedding, 2e-6);
    checkRounding<BFloat16>(embedding, 4e-3);
    Problem attention = attentionProblem(random);
    checkRounding<float>(attention, 2e-5);
    checkRounding<BFloat16>(attention, 4e-3);
    Problem ssd = ssdProblem(random, Decay::Strong);
    if (isNearLimit(ssd))
      continue;
    checkRounding<float>(ssd, 2e-5);
    checkRounding<BFloat16>(ssd, 4e-3);
  }
}

} // namespace
