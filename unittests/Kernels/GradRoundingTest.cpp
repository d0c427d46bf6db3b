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

  /// What a kernel gives, as doubles; fails the test where it does not run.
  std::map<std::string, std::vector<double>> run(KernelFn kernel) {
    std::map<std::string, Tensor<T>> results;
    std::map<std::string, Tensor<Acc>> sums;
    std::vector<Buffer> ins, outs;
    for (const std::string &name : problem.gradIns)
      ins.push_back(wide.count(name)     ? wide[name].buffer()
                    : narrow.count(name) ? narrow[name].buffer()
                                         : problem.find(name));
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
             double tolerance) {
    for (const auto &[name, values] : got) {
      double error = 0, norm = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        double want = problem.gradients[name][int64_t(i)];
        error += (values[i] - want) * (values[i] - want);
        norm += want * want;
      }
      // A cotangent of an activation is rounded to its type.
      double least = sizeof(T) == 2 && !isSum(name) ? 4e-3 : 0;
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

/// Every kernel there is, against the plain one in f64 on the same numbers.
/// Fast ones give the same bits on one thread and on three, and however tensors
/// lie in memory.
template <typename T> void checkKernels(Problem problem, double tolerance) {
  Problem same = problem;
  Rounded<T> rounded(problem, 5), elsewhere(same, 6);
  for (const Implementation &implementation : implementations()) {
    KernelFn kernel =
        implementation.find((problem.op + "_grad").c_str(), Element<T>::dtype);
    if (!kernel)
      continue;
    SCOPED_TRACE(implementation.name);
    auto got = rounded.run(kernel);
    rounded.check(got, tolerance);
    WithThreads threads(3);
    EXPECT_EQ(rounded.run(kernel), got);
    if (&implementation != &implementations().front())
      EXPECT_EQ(elsewhere.run(kernel), got);
  }
}

struct Tolerances {
  double f64, f32, bf16;
};

void checkTypes(const Problem &problem, const Tolerances &tolerances) {
  checkKernels<double>(problem, tolerances.f64);
  checkKernels<float>(problem, tolerances.f32);
  checkKernels<BFloat16>(problem, tolerances.bf16);
}

constexpr Tolerances plainSums = {1e-13, 3e-6, 3e-6};
constexpr Tolerances longSums = {1e-12, 2e-5, 2e-5};

template <typename Fn> void forEachDraw(Fn fn) {
  for (Extent extent : {Extent::Small, Extent::Large})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed
                   << (extent == Extent::Large ? ", large" : ", small"));
      Random random(seed);
      fn(random, extent);
    }
}

TEST(GradRoundingTest, Conv1d) {
  forEachDraw([](Random &random, Extent extent) {
    checkTypes(convProblem(random, extent), plainSums);
  });
}

TEST(GradRoundingTest, RmsNorm) {
  forEachDraw([](Random &random, Extent extent) {
    checkTypes(normProblem(random, extent), longSums);
  });
}

TEST(GradRoundingTest, Embedding) {
  forEachDraw([](Random &random, Extent extent) {
    checkTypes(embeddingProblem(random, extent), plainSums);
  });
}

TEST(GradRoundingTest, Attention) {
  forEachDraw([](Random &random, Extent extent) {
    checkTypes(attentionProblem(random, extent), longSums);
  });
}

TEST(GradRoundingTest, Ssd) {
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    forEachDraw([&](Random &random, Extent extent) {
      SCOPED_TRACE(testing::Message() << "decay " << int(decay));
      Problem problem = ssdProblem(random, decay, extent);
      // A rounded step may be on the other side of a limit.
      if (extent == Extent::Large || !isNearLimit(problem))
        checkTypes(problem, longSums);
    });
}

} // namespace
