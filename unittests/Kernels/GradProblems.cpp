//===- GradProblems.cpp - Operations with adjoints, drawn -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradProblems.h"

namespace cp::kernels::test {

/// A size from 1 on.
static int64_t upTo(Random &random, Extent extent, int64_t small,
                    int64_t large) {
  return pick(random, 1, extent == Extent::Small ? small : large);
}

/// Places of a row that begins within a document and has borders.
static void addPlaces(Problem &problem, int64_t b, int64_t l, Random &random) {
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

Problem convProblem(Random &random, Extent extent) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = upTo(random, extent, 9, 400),
          c = upTo(random, extent, 3, 100), w = pick(random, 1, 5);
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

Problem normProblem(Random &random, Extent extent) {
  Problem problem;
  int64_t groups = pick(random, 1, 3), c = groups * upTo(random, extent, 4, 90);
  std::vector<int64_t> size = {2, upTo(random, extent, 4, 90) - 1, c};
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

Problem embeddingProblem(Random &random, Extent extent) {
  Problem problem;
  int64_t v = upTo(random, extent, 5, 300), d = upTo(random, extent, 4, 70);
  int64_t each = extent == Extent::Small ? 7 : 200;
  problem.op = "embedding";
  problem.ins = {"ids", "table"};
  problem.gradIns = {"ids", "y"};
  problem.gradOuts = {"dtable"};
  problem.hasIds = true;
  problem.ids = Tensor<int64_t>({2, each}, pickLay(random), random);
  for (int64_t i = 0; i < 2 * each; ++i)
    problem.ids[i] = pick(random, 0, v - 1);
  problem.add("table", {v, d}, random);
  problem.addOut("y", {2, each, d}, random);
  return problem;
}

Problem ssdProblem(Random &random, Decay decay, Extent extent) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = upTo(random, extent, 9, 300),
          g = pick(random, 1, 2), h = g * pick(random, 1, 2),
          p = upTo(random, extent, 3, 70), n = upTo(random, extent, 3, 70);
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

Problem attentionProblem(Random &random, Extent extent) {
  Problem problem;
  int64_t b = pick(random, 1, 2), l = upTo(random, extent, 7, 200),
          hkv = pick(random, 1, 2), hq = hkv * pick(random, 1, 2),
          d = upTo(random, extent, 3, 70), dv = upTo(random, extent, 3, 70);
  bool causal = pick(random, 0, 2);
  int64_t s = causal ? l : upTo(random, extent, 7, 200);
  int64_t window =
      causal && pick(random, 0, 1) ? upTo(random, extent, 4, 150) : 0;
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

} // namespace cp::kernels::test
