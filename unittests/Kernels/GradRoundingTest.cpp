//===- GradRoundingTest.cpp - Adjoints in every type against f64 ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradProblems.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// A problem's tensors as a kernel of one type gets them; the problem's own
/// become the same numbers.
template <typename T> class Rounded {
public:
  using Acc = AccumulatorOf<T>;

  /// Tensors lie in memory as `seed` has it.
  explicit Rounded(Problem &problem, uint64_t seed)
      : problem(problem), random(seed) {
    for (auto *tensors : {&problem.tensors, &problem.cotangents})
      for (auto &[name, tensor] : *tensors)
        round(name, tensor);
    problem.loss();
    // Adjoints get what the operation has stored.
    for (auto &[name, tensor] : problem.results)
      round(name, tensor);
    problem.callAdjoint(random);
  }

  /// A tensor as kernels get it, or none.
  Buffer find(const std::string &name) {
    return wide.count(name)     ? wide[name].buffer()
           : narrow.count(name) ? narrow[name].buffer()
                                : problem.find(name);
  }

  /// What a kernel gives, as doubles; fails the test where it does not run.
  std::map<std::string, std::vector<double>> run(KernelFn kernel) {
    std::map<std::string, Tensor<T>> results;
    std::map<std::string, Tensor<Acc>> sums;
    std::vector<Buffer> ins, outs;
    for (const std::string &name : problem.gradIns)
      ins.push_back(find(name));
    for (const std::string &name : problem.gradOuts) {
      const auto &size = problem.gradients[name].sizes;
      if (isSum(name))
        sums[name] = Tensor<Acc>(size, pickLay(random), random);
      else
        results[name] = Tensor<T>(size, pickLay(random), random);
      outs.push_back(isSum(name) ? sums[name].buffer()
                                 : results[name].buffer());
    }
    EXPECT_EQ(test::run(kernel, ins, outs,
                        problem.gradAttrs.empty() ? problem.attrs
                                                  : problem.gradAttrs),
              "");
    std::map<std::string, std::vector<double>> got;
    for (const std::string &name : problem.gradOuts) {
      EXPECT_TRUE(isSum(name) ? sums[name].isIntact()
                              : results[name].isIntact())
          << name;
      for (int64_t i = 0; i < problem.gradients[name].count(); ++i)
        got[name].push_back(isSum(name) ? double(sums[name][i])
                                        : double(Acc(results[name][i])));
    }
    return got;
  }

  void check(const std::map<std::string, std::vector<double>> &got,
             double tolerance, bool roundsFactors = false) {
    for (const auto &[name, values] : got) {
      double error = 0, norm = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        double want = problem.gradients[name][int64_t(i)];
        error += (values[i] - want) * (values[i] - want);
        norm += want * want;
      }
      // A cotangent of an activation is rounded to its type.
      double least = sizeof(T) == 2 && !isSum(name) ? 4e-3 : 0;
      // Each factor may be off by half a unit in the last of eight bits, and
      // sums of terms of both signs, as steps have, by more of what is left.
      bool isOfSteps = name == "ddt" || name == "ddt_bias" || name == "dA_log";
      if (roundsFactors)
        least = isOfSteps ? 1.0 / 32 : 1.0 / 128;
      EXPECT_LE(std::sqrt(error),
                std::max(tolerance, least) * std::sqrt(norm) + 1e-30)
          << name;
    }
  }

private:
  bool isScan() const { return problem.op == "ssd"; }
  bool isSum(const std::string &name) const {
    return name == "dweight" || name == "dbias" || name == "dA_log" ||
           name == "dD" || name == "ddt_bias" || name == "dtable" ||
           name == "dk" || name == "dv" || (name == "dinitial" && isScan());
  }

  void round(const std::string &name, Doubles &tensor) {
    Tensor<T> rounded(tensor.sizes, pickLay(random), random);
    Tensor<Acc> kept(tensor.sizes, pickLay(random), random);
    // What is kept in the type of sums.
    bool isKept = name == "state" || name == "lse" || name == "results lse" ||
                  (name == "initial" && isScan());
    for (int64_t i = 0; i < tensor.count(); ++i) {
      rounded[i] = T(float(tensor[i]));
      kept[i] = isKept ? Acc(tensor[i]) : Acc(rounded[i]);
      tensor[i] = double(kept[i]);
    }
    if (isKept)
      wide[name] = std::move(kept);
    else
      narrow[name] = std::move(rounded);
  }

  Problem &problem;
  Random random;
  std::map<std::string, Tensor<T>> narrow;
  std::map<std::string, Tensor<Acc>> wide;
};

/// What a problem is drawn from, and whether kernels that an executor runs take
/// it too, which takes long.
struct Draw {
  Random random;
  Extent extent;
  bool isForExecutor;
};

/// Whether a kernel rounds weights, what they have for cotangents, and states
/// to bf16 for products.
template <typename T>
bool roundsFactors(const Implementation &implementation,
                   const Problem &problem) {
  return implementation.roundsFactors && std::is_same_v<T, BFloat16> &&
         (problem.op == "attention" || problem.op == "ssd");
}

/// Every kernel there is, against the plain one in f64 on the same numbers.
/// Fast ones give the same bits on one thread and on three, and however tensors
/// lie in memory.
template <typename T>
void checkKernels(Problem problem, const Draw &draw, double tolerance) {
  Problem same = problem;
  Rounded<T> rounded(problem, 5), elsewhere(same, 6);
  for (const Implementation &implementation : implementations()) {
    KernelFn kernel =
        implementation.find((problem.op + "_grad").c_str(), Element<T>::dtype);
    if (!kernel || (implementation.isExecuted && !draw.isForExecutor))
      continue;
    SCOPED_TRACE(implementation.name);
    auto got = rounded.run(kernel);
    rounded.check(got, tolerance, roundsFactors<T>(implementation, problem));
    WithThreads threads(3);
    EXPECT_EQ(rounded.run(kernel), got);
    if (&implementation != &implementations().front())
      EXPECT_EQ(elsewhere.run(kernel), got);
  }
}

struct Tolerances {
  double f64, f32, bf16;
};

void checkTypes(const Problem &problem, const Draw &draw,
                const Tolerances &tolerances) {
  checkKernels<double>(problem, draw, tolerances.f64);
  checkKernels<float>(problem, draw, tolerances.f32);
  checkKernels<BFloat16>(problem, draw, tolerances.bf16);
}

constexpr Tolerances plainSums = {1e-13, 3e-6, 3e-6};
constexpr Tolerances longSums = {1e-12, 2e-5, 2e-5};

template <typename Fn> void forEachDraw(Fn fn) {
  for (Extent extent : {Extent::Small, Extent::Large})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed
                   << (extent == Extent::Large ? ", large" : ", small"));
      Draw draw = {Random(seed), extent,
                   extent == Extent::Small || seed % 5 == 0};
      fn(draw);
    }
}

TEST(GradRoundingTest, Conv1d) {
  forEachDraw([](Draw &draw) {
    checkTypes(convProblem(draw.random, draw.extent), draw, plainSums);
  });
}

/// Rounding of a sum over tokens grows with how many stand in a row.
TEST(GradRoundingTest, SumsOfManyTokens) {
  constexpr int64_t l = 2048, c = 64, w = 4;
  Random random(1);
  std::uniform_real_distribution<float> draw(0, 1);
  auto make = [&](std::vector<int64_t> sizes) {
    Tensor<float> tensor(sizes, Lay::Dense, random);
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor[i] = draw(random);
    return tensor;
  };
  Tensor<float> x = make({1, l, c}), weight = make({c, w}),
                dy = make({1, l, c});
  Tensor<float> dx = make({1, l, c}), dWeight = make({c, w}), dBias = make({c}),
                dInitial = make({1, w - 1, c});
  ASSERT_EQ(test::run(findCpuKernel("conv1d_grad", DType::F32, KernelSet::Fast),
                      {x.buffer(), weight.buffer(), dy.buffer()},
                      {dx.buffer(), dWeight.buffer(), dBias.buffer(),
                       dInitial.buffer()},
                      {/*silu=*/0}),
            "");
  double wrong = 0;
  for (int64_t i = 0; i < c; ++i) {
    double exact = 0;
    for (int64_t t = 0; t < l; ++t)
      exact += double(dy(0, t, i));
    wrong += std::pow(double(dBias[i]) / exact - 1, 2);
  }
  EXPECT_LE(std::sqrt(wrong / c),
            0.48 * double(std::numeric_limits<float>::epsilon()));
}

TEST(GradRoundingTest, RmsNorm) {
  forEachDraw([](Draw &draw) {
    checkTypes(normProblem(draw.random, draw.extent), draw, longSums);
  });
}

TEST(GradRoundingTest, Embedding) {
  forEachDraw([](Draw &draw) {
    checkTypes(embeddingProblem(draw.random, draw.extent), draw, plainSums);
  });
}

/// Of an id that many tokens have nothing is lost, but by the plain kernel.
TEST(GradRoundingTest, EmbeddingOfManyUses) {
  constexpr int64_t l = 50000, d = 3, v = 2;
  Random random(1);
  Tensor<float> dy({1, l, d}, Lay::Dense, random);
  dy.fill(random, 0, 1);
  Tensor<int32_t> ids({1, l}, Lay::Dense, random);
  for (int64_t i = 0; i < l; ++i)
    ids[i] = i % 100 == 0;
  for (const Implementation &implementation : implementations()) {
    if (std::string(implementation.name) == plainImplementation().name)
      continue;
    SCOPED_TRACE(implementation.name);
    Tensor<float> dtable({v, d}, Lay::Dense, random);
    ASSERT_EQ(test::run(implementation.find("embedding_grad", DType::F32),
                        {ids.buffer(), dy.buffer()}, {dtable.buffer()}, {}),
              "");
    for (int64_t id = 0; id < v; ++id)
      for (int64_t i = 0; i < d; ++i) {
        double exact = 0;
        for (int64_t t = 0; t < l; ++t)
          exact += ids[t] == id ? double(dy(0, t, i)) : 0;
        EXPECT_NEAR(dtable(id, i) / exact, 1, 1e-6) << id << ' ' << i;
      }
  }
}

TEST(GradRoundingTest, Attention) {
  forEachDraw([](Draw &draw) {
    checkTypes(attentionProblem(draw.random, draw.extent), draw, longSums);
  });
}

TEST(GradRoundingTest, Ssd) {
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    forEachDraw([&](Draw &draw) {
      SCOPED_TRACE(testing::Message() << "decay " << int(decay));
      Problem problem = ssdProblem(draw.random, decay, draw.extent);
      // A rounded step may be on the other side of a limit.
      if (draw.extent == Extent::Large || !isNearLimit(problem))
        checkTypes(problem, draw, longSums);
    });
}

template <typename T> void checkDocuments() {
  // The third one: over the end of a tile, in front of which another begins.
  constexpr int64_t each = 23, spoilt = 2;
  for (bool isScan : {false, true}) {
    SCOPED_TRACE(isScan ? "ssd" : "conv1d");
    Random random(3);
    Problem problem;
    do
      problem = isScan ? ssdProblem(random, Decay::Slow, Extent::Large)
                       : convProblem(random, Extent::Large);
    while (problem.tensors["x"].sizes[1] < 4 * each ||
           problem.tensors["x"].sizes[1] > 150);
    int64_t b = problem.tensors["x"].sizes[0],
            l = problem.tensors["x"].sizes[1];
    problem.hasPlaces = true;
    problem.places = Tensor<int64_t>({b, l}, Lay::Dense, random);
    for (int64_t i = 0; i < b * l; ++i)
      problem.places[i] = i % l % each;
    Problem spoiled = problem;
    for (auto &[name, tensor] : spoiled.tensors)
      for (int64_t i = 0; i < tensor.count(); ++i)
        if ((name == "x" || name == "B" || name == "C") &&
            i * b * l / tensor.count() % l / each == spoilt)
          tensor[i] = std::numeric_limits<double>::quiet_NaN();
    Rounded<T> whole(problem, 5), holed(spoiled, 5);
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(implementation.name);
      KernelFn kernel = implementation.find((problem.op + "_grad").c_str(),
                                            Element<T>::dtype);
      auto want = whole.run(kernel), got = holed.run(kernel);
      for (const char *name : {"dx", "dB", "dC", "ddt"})
        for (size_t i = 0; i < got[name].size(); ++i)
          if (int64_t(i * size_t(b * l) / got[name].size()) % l / each !=
              spoilt)
            ASSERT_EQ(got[name][i], want[name][i]) << name << " " << i;
    }
  }
}

/// What is not a number in one document reaches nothing of another's, also of
/// what comes before it in its tile.
TEST(GradRoundingTest, DocumentsKeepToThemselves) {
  checkDocuments<float>();
  checkDocuments<BFloat16>();
}

/// What a rank's tokens alone pass back to the state in front of them is what
/// the whole adjoint does where nothing is behind them.
template <typename T> void checkStates(Problem problem, const Draw &draw) {
  using Acc = AccumulatorOf<T>;
  problem.gradIns[9] = "nothing";
  Rounded<T> rounded(problem, 5);
  for (const Implementation &implementation : implementations()) {
    if (implementation.isExecuted && !draw.isForExecutor)
      continue;
    SCOPED_TRACE(implementation.name);
    Random random(7);
    Tensor<Acc> got(problem.gradients["dinitial"].sizes, pickLay(random),
                    random);
    std::vector<Buffer> ins;
    for (const char *name : {"y", "dt", "A_log", "C", "dt_bias", "places"})
      ins.push_back(rounded.find(name));
    ASSERT_EQ(
        test::run(implementation.find("ssd_grad_states", Element<T>::dtype),
                  ins, {got.buffer()}, problem.attrs),
        "");
    EXPECT_TRUE(got.isIntact());
    std::map<std::string, std::vector<double>> states;
    for (int64_t i = 0; i < got.count(); ++i)
      states["dinitial"].push_back(double(got[i]));
    rounded.check(states, std::is_same_v<T, double> ? 1e-12 : 2e-5,
                  roundsFactors<T>(implementation, problem));
  }
}

TEST(GradRoundingTest, SsdStates) {
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    forEachDraw([&](Draw &draw) {
      SCOPED_TRACE(testing::Message() << "decay " << int(decay));
      Problem problem = ssdProblem(draw.random, decay, draw.extent);
      if (draw.extent == Extent::Small && isNearLimit(problem))
        return;
      checkStates<double>(problem, draw);
      checkStates<float>(problem, draw);
      checkStates<BFloat16>(problem, draw);
    });
}

/// Rows [begin, end) of a tensor.
Buffer rowsOf(Buffer whole, int64_t begin, int64_t end,
              std::vector<int64_t> &sizes) {
  sizes.assign(whole.sizes, whole.sizes + whole.rank);
  sizes[1] = end - begin;
  whole.data = static_cast<char *>(whole.data) +
               begin * whole.strides[1] * int64_t(elementBytes(whole.dtype));
  whole.sizes = sizes.data();
  return whole;
}

/// Keys in two blocks, of which the second adds to what there is of dq, and
/// both to what there is of dk and dv, as much again.
template <typename T>
void checkBlocks(Problem problem, const Draw &draw, Random random) {
  using Acc = AccumulatorOf<T>;
  Rounded<T> rounded(problem, 5);
  const std::vector<int64_t> &dqSizes = problem.gradients["dq"].sizes;
  int64_t l = dqSizes[1], s = problem.tensors["k"].sizes[1];
  int64_t cut = pick(random, 0, s);
  Tensor<int64_t> positions({l}, Lay::Dense, random);
  for (int64_t i = 0; i < l; ++i)
    positions[i] = i;
  for (const Implementation &implementation : implementations()) {
    if (implementation.isExecuted && !draw.isForExecutor)
      continue;
    SCOPED_TRACE(implementation.name);
    KernelFn kernel =
        implementation.find("attention_grad_block", Element<T>::dtype);
    Tensor<Acc> partial(dqSizes, pickLay(random), random);
    std::map<std::string, Tensor<Acc>> sums, before;
    for (const char *name : {"dk", "dv"}) {
      const std::vector<int64_t> &sizes = problem.gradients[name].sizes;
      sums[name] = Tensor<Acc>(sizes, pickLay(random), random);
      before[name] = Tensor<Acc>(sizes, pickLay(random), random);
      before[name].fill(random, -1, 1);
    }
    Tensor<T> dq(dqSizes, pickLay(random), random);
    for (bool isSecond : {false, true}) {
      int64_t begin = isSecond ? cut : 0, end = isSecond ? s : cut;
      std::vector<int64_t> sizes[6];
      auto rows = [&](Buffer whole, int i) {
        return rowsOf(whole, begin, end, sizes[i]);
      };
      Buffer k = rows(rounded.find("k"), 0), v = rows(rounded.find("v"), 1);
      std::vector<int64_t> attrs = problem.gradAttrs;
      attrs.push_back(end > begin ? 3 : 0);
      if (end > begin)
        attrs.insert(attrs.end(), {begin, end - begin, 1});
      ASSERT_EQ(test::run(kernel,
                          {rounded.find("q"), k, v, rounded.find("results out"),
                           rounded.find("results lse"), rounded.find("out"),
                           rounded.find("lse"), rounded.find("places"),
                           problem.attrs[0] ? positions.buffer() : absent,
                           isSecond ? partial.buffer() : absent,
                           rows(before["dk"].buffer(), 2),
                           rows(before["dv"].buffer(), 3)},
                          {isSecond ? dq.buffer() : partial.buffer(),
                           rows(sums["dk"].buffer(), 4),
                           rows(sums["dv"].buffer(), 5)},
                          attrs),
                "");
    }
    std::map<std::string, std::vector<double>> got;
    for (int64_t i = 0; i < dq.count(); ++i)
      got["dq"].push_back(double(Acc(dq[i])));
    for (const char *name : {"dk", "dv"})
      for (int64_t i = 0; i < sums[name].count(); ++i)
        got[name].push_back(double(sums[name][i]) - double(before[name][i]));
    rounded.check(got, std::is_same_v<T, double> ? 1e-12 : 2e-5,
                  roundsFactors<T>(implementation, problem));
  }
}

TEST(GradRoundingTest, AttentionBlocks) {
  forEachDraw([](Draw &draw) {
    Problem problem = attentionProblem(draw.random, draw.extent);
    checkBlocks<double>(problem, draw, draw.random);
    checkBlocks<float>(problem, draw, draw.random);
    checkBlocks<BFloat16>(problem, draw, draw.random);
  });
}

} // namespace
