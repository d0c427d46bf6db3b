//===- SsdGradTilesTest.cpp - The scan's adjoint on matrix units ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of models, and each term by itself: what comes from behind is so
// much larger than what a tile adds that it hides a wrong index within the
// tile. Beside the plain kernel in f64 on the same numbers.
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "Support.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

struct Shape {
  int64_t b, l, h, p, g, n;
};

/// What a scan's adjoint is given, in bf16 and f32.
struct Problem {
  Shape s;
  std::map<std::string, Tensor<float>> tensors;
  Tensor<int64_t> places;
  bool hasPlaces = false;

  /// With A_log from `low` to `high`: from slow to strong.
  Problem(const Shape &shape, uint64_t seed, double low = -6, double high = 1)
      : s(shape) {
    Random random(seed);
    auto add = [&](const char *name, std::vector<int64_t> sizes, double from,
                   double to) {
      Tensor<float> tensor(std::move(sizes), Lay::Dense, random);
      tensor.fill(random, from, to);
      for (int64_t i = 0; i < tensor.count(); ++i)
        tensor[i] = float(BFloat16(tensor[i]));
      tensors[name] = std::move(tensor);
    };
    add("x", {s.b, s.l, s.h, s.p}, -1, 1);
    add("dt", {s.b, s.l, s.h}, -2, 1);
    add("A_log", {s.h}, low, high);
    add("B", {s.b, s.l, s.g, s.n}, -1, 1);
    add("C", {s.b, s.l, s.g, s.n}, -1, 1);
    add("dy", {s.b, s.l, s.h, s.p}, -1, 1);
    add("D", {s.h}, -1, 1);
    add("dt_bias", {s.h}, -1, 1);
    add("initial", {s.b, s.h, s.p, s.n}, -1, 1);
    add("dstate", {s.b, s.h, s.p, s.n}, -1, 1);
  }
  void clear(const char *name) {
    Random random(0);
    tensors[name].fill(random, 0, 0);
  }
  /// Documents of such lengths, and behind them rows without a token.
  void setDocuments(std::vector<int64_t> lengths) {
    Random random(0);
    places = Tensor<int64_t>({s.b, s.l}, Lay::Dense, random);
    hasPlaces = true;
    for (int64_t i = 0; i < s.b * s.l; ++i)
      places[i] = -1;
    for (int64_t i = 0; i < s.b; ++i) {
      int64_t t = 0;
      for (int64_t length : lengths)
        for (int64_t place = 0; place < length && t < s.l; ++place)
          places(i, t++) = place;
    }
  }
};

using Values = std::map<std::string, std::vector<double>>;

template <typename T> Values adjointOf(Problem &problem, KernelFn kernel) {
  using Acc = AccumulatorOf<T>;
  Random random(1);
  std::map<std::string, Tensor<T>> narrow, results;
  std::map<std::string, Tensor<Acc>> wide, sums;
  std::vector<Buffer> ins, outs;
  for (const char *name : {"x", "dt", "A_log", "B", "C", "dy", "D", "dt_bias",
                           "initial", "dstate"}) {
    Tensor<float> &from = problem.tensors[name];
    auto add = [&](auto &to) {
      to = std::decay_t<decltype(to)>(from.sizes, Lay::Dense, random);
      for (int64_t i = 0; i < from.count(); ++i)
        to[i] = std::decay_t<decltype(to[0])>(from[i]);
      ins.push_back(to.buffer());
    };
    if (std::set<std::string>{"initial", "dstate"}.count(name))
      add(wide[name]);
    else
      add(narrow[name]);
  }
  ins.push_back(problem.hasPlaces ? problem.places.buffer() : absent);
  const std::pair<const char *, const char *> names[] = {
      {"dx", "x"},
      {"ddt", "dt"},
      {"dA_log", "A_log"},
      {"dB", "B"},
      {"dC", "C"},
      {"dD", "D"},
      {"ddt_bias", "dt_bias"},
      {"dinitial", "initial"}};
  for (auto [name, like] : names) {
    std::vector<int64_t> sizes = problem.tensors[like].sizes;
    if (std::string(name) == "dD")
      sizes.push_back(problem.s.p);
    bool isSum =
        std::set<std::string>{"dA_log", "dD", "ddt_bias", "dinitial"}.count(
            name);
    auto add = [&](auto &to) {
      to = std::decay_t<decltype(to)>(sizes, Lay::Dense, random);
      outs.push_back(to.buffer());
    };
    if (isSum)
      add(sums[name]);
    else
      add(results[name]);
  }
  EXPECT_EQ(run(kernel, ins, outs, {256, bitsOf(INFINITY), bitsOf(0)}), "");
  Values values;
  for (auto &[name, tensor] : results)
    for (int64_t i = 0; i < tensor.count(); ++i)
      values[name].push_back(double(Acc(tensor[i])));
  for (auto &[name, tensor] : sums)
    for (int64_t i = 0; i < tensor.count(); ++i)
      values[name].push_back(double(tensor[i]));
  return values;
}

KernelFn onCard() {
  return implementations().back().find("ssd_grad", DType::BF16);
}

double normOf(const std::vector<double> &values) {
  double norm = 0;
  for (double value : values)
    norm += value * value;
  return std::sqrt(norm);
}

/// Relative to the norm of each; sums over tokens, which cancel, also to that
/// of what each token has.
void compare(Values got, Values want) {
  for (auto &[name, values] : want) {
    std::vector<double> errors = values;
    for (size_t i = 0; i < values.size(); ++i)
      errors[i] -= got[name][i];
    double allowed = normOf(values) / 256;
    if (name == "dD")
      allowed = 1e-5 * normOf(values);
    if (name == "ddt" || name == "ddt_bias" || name == "dA_log")
      allowed = (normOf(values) + normOf(want["ddt"])) / 64;
    EXPECT_LE(normOf(errors), allowed + 1e-30) << name;
  }
}

/// Warpgroups serve up to 128 states.
void check(Problem &problem) {
  Values want = adjointOf<double>(
      problem, plainImplementation().find("ssd_grad", DType::F64));
  inEachForm([&] { compare(adjointOf<BFloat16>(problem, onCard()), want); },
             problem.s.n > 128);
}

const Shape modelShape = {1, 200, 2, 64, 1, 128};
const Shape wideShape = {1, 200, 2, 64, 1, 256};
const Shape slicedShape = {1, 140, 2, 128, 1, 256};

/// Heads and groups, whole tiles and rests, each width and between, channels
/// that do not fill a tile, and those of several.
TEST(SsdGradTilesTest, ModelShapes) {
  for (const Shape &shape :
       {modelShape, Shape{1, 128, 4, 64, 2, 64}, Shape{2, 77, 1, 40, 1, 96},
        Shape{1, 129, 3, 64, 1, 16}, Shape{1, 70, 2, 9, 1, 13}, wideShape,
        Shape{1, 70, 4, 40, 2, 200}, Shape{1, 70, 1, 64, 1, 135}, slicedShape,
        Shape{2, 70, 2, 100, 2, 96}, Shape{1, 77, 3, 131, 1, 24},
        Shape{1, 70, 2, 100, 1, 13}})
    for (uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.l << " tokens, " << shape.p
                                      << " channels, seed " << seed);
      Problem problem(shape, seed);
      if (seed == 2)
        problem.setDocuments({30, 34, 1, 40, 5, 80});
      check(problem);
    }
}

TEST(SsdGradTilesTest, DecaysThatAreSlowAndStrong) {
  for (double low : {-9.0, 3.0}) {
    SCOPED_TRACE(low);
    Problem problem(modelShape, 4, low, low + 1);
    check(problem);
  }
}

/// What a sequence by itself has: nothing in front of it or behind.
TEST(SsdGradTilesTest, WithinTheSequence) {
  Problem problem(modelShape, 5);
  for (const char *name : {"initial", "dstate", "D"})
    problem.clear(name);
  check(problem);
}

/// Of a card without shared memory for it, without matrix units.
TEST(SsdGradTilesTest, ManyStatesOnASmallCard) {
  WithSharedMemory memory(99 << 10);
  if (memory.isLimited()) {
    Problem problem({1, 100, 1, 64, 1, 256}, 5);
    check(problem);
  }
}

/// The state in front alone, which fades, and what is behind alone.
TEST(SsdGradTilesTest, StatesAlone) {
  for (const Shape &shape : {modelShape, wideShape, slicedShape}) {
    Problem front(shape, 6);
    for (const char *name : {"x", "dstate", "D"})
      front.clear(name);
    check(front);
    Problem behind(shape, 7);
    for (const char *name : {"dy", "initial", "D"})
      behind.clear(name);
    check(behind);
  }
}

/// What the kernel of the states alone gives is what a scan gives of the state
/// in front, where nothing is behind.
TEST(SsdGradTilesTest, StatesInFront) {
  for (const Shape &shape :
       {modelShape, wideShape, slicedShape, Shape{2, 70, 2, 100, 2, 96}}) {
    SCOPED_TRACE(testing::Message() << shape.p << " channels, " << shape.n);
    Problem problem(shape, 15);
    problem.clear("dstate");
    std::vector<double> want =
        adjointOf<double>(problem,
                          plainImplementation().find("ssd_grad", DType::F64))
            .at("dinitial");
    Random random(1);
    std::map<std::string, Tensor<BFloat16>> ins;
    std::vector<Buffer> buffers;
    for (const char *name : {"dy", "dt", "A_log", "C", "dt_bias"}) {
      Tensor<float> &from = problem.tensors[name];
      Tensor<BFloat16> &to = ins[name];
      to = Tensor<BFloat16>(from.sizes, Lay::Dense, random);
      for (int64_t i = 0; i < from.count(); ++i)
        to[i] = BFloat16(from[i]);
      buffers.push_back(to.buffer());
    }
    buffers.push_back(absent);
    Tensor<float> dstate({shape.b, shape.h, shape.p, shape.n}, Lay::Dense,
                         random);
    ASSERT_EQ(run(implementations().back().find("ssd_grad_states", DType::BF16),
                  buffers, {dstate.buffer()},
                  {256, bitsOf(INFINITY), bitsOf(0)}),
              "");
    std::vector<double> errors = want;
    for (size_t i = 0; i < want.size(); ++i)
      errors[i] -= double(dstate[int64_t(i)]);
    EXPECT_LE(normOf(errors), normOf(want) / 256);
    EXPECT_GT(normOf(want), 0);
  }
}

/// Of one token's output alone comes something back, which every token in front
/// must find at its place.
void checkOneOutputAtATime(int64_t states) {
  SCOPED_TRACE(testing::Message() << states << " states");
  for (int64_t token : {0, 1, 15, 16, 31, 32, 47, 63, 64, 100, 127, 128}) {
    SCOPED_TRACE(testing::Message() << "token " << token);
    Problem problem({1, 130, 1, 64, 1, states}, 8);
    for (const char *name : {"initial", "dstate", "D"})
      problem.clear(name);
    Tensor<float> &dy = problem.tensors["dy"];
    for (int64_t i = 0; i < dy.count(); ++i)
      if (i / 64 != token)
        dy[i] = 0;
    check(problem);
  }
}
TEST(SsdGradTilesTest, OneOutputAtATime) {
  for (int64_t states : {128, 256})
    checkOneOutputAtATime(states);
}

/// What is not a number reaches nothing that does not depend on it: other
/// results have the same bits.
void expectReachesWhatDepends(const char *name, bool hasDocuments, int64_t p,
                              int64_t n) {
  constexpr int64_t l = 200, token = 90, tile = 64;
  Problem problem({1, l, 1, p, 1, n}, 9);
  // One document ends within the tile, and one begins.
  if (hasDocuments)
    problem.setDocuments({70, 30, 60});
  Problem bad = problem;
  int64_t width = bad.tensors[name].count() / l;
  bad.tensors[name][token * width + width - 5] = NAN;
  Values want = adjointOf<double>(
      bad, plainImplementation().find("ssd_grad", DType::F64));
  Values clean = adjointOf<BFloat16>(problem, onCard());
  Values got = adjointOf<BFloat16>(bad, onCard());
  int64_t spoilt = 0, kept = 0;
  for (auto &[result, values] : want)
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::isnan(got[result][i]), std::isnan(values[i]))
          << result << ' ' << i;
      (std::isnan(values[i]) ? spoilt : kept) += 1;
      // Of the other documents' tokens even the bits are the same, but for
      // those in a tile that warps take over from a warpgroup.
      bool isOfTokens = std::set<std::string>{"dx", "dB", "dC"}.count(result);
      auto at = int64_t(i) / std::max<int64_t>(int64_t(values.size()) / l, 1);
      bool isTakenOver =
          cuda::multipliesByWarpgroups() && at / tile == token / tile;
      if (hasDocuments && isOfTokens && (at < 70 || at >= 100) && !isTakenOver)
        ASSERT_EQ(got[result][i], clean[result][i]) << result << ' ' << i;
    }
  EXPECT_GT(spoilt, 0);
  EXPECT_GT(kept, 1000);
}

TEST(SsdGradTilesTest, WhatIsNotANumber) {
  for (const char *name : {"dy", "B", "C", "x"})
    for (bool hasDocuments : {false, true}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << hasDocuments);
      for (auto [channels, states] : {std::pair<int64_t, int64_t>(64, 128),
                                      std::pair<int64_t, int64_t>(64, 256),
                                      std::pair<int64_t, int64_t>(100, 64)})
        inEachForm(
            [=, p = channels, n = states] {
              expectReachesWhatDepends(name, hasDocuments, p, n);
            },
            states > 128);
    }
}

} // namespace
