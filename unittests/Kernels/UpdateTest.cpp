//===- UpdateTest.cpp - Steps of optimizers -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

std::vector<int64_t> drawSizes(Random &random) {
  std::vector<int64_t> sizes(size_t(pick(random, 0, 4)));
  for (int64_t &size : sizes)
    size = pick(random, pick(random, 0, 15) ? 1 : 0, 9);
  // Several blocks of a run.
  if (sizes.size() == 2 && pick(random, 0, 1))
    sizes = {pick(random, 3, 5), pick(random, 16000, 17000)};
  return sizes;
}

template <typename T> std::vector<T> valuesOf(Tensor<T> &tensor) {
  std::vector<T> values;
  for (int64_t i = 0; i < tensor.count(); ++i)
    values.push_back(tensor[i]);
  return values;
}

template <typename T> bool sameBits(const std::vector<T> &a, Tensor<T> &b) {
  std::vector<T> values = valuesOf(b);
  return a.size() == values.size() &&
         !std::memcmp(a.data(), values.data(), a.size() * sizeof(T));
}

/// A parameter and all that a step of AdamW, or of SGD, has of it.
template <typename T> struct Step {
  Step(Random &random, bool adam, bool isDense) : isAdam(adam) {
    std::vector<int64_t> sizes = drawSizes(random);
    auto lay = [&] { return isDense ? Lay::Dense : pickLay(random); };
    for (Tensor<T> *tensor : {&param, &grad, &m, &v, &updated, &mOut, &vOut})
      *tensor = Tensor<T>(sizes, lay(), random);
    rounded = Tensor<BFloat16>(sizes, lay(), random);
    for (Tensor<double> *scalar : {&rate, &scale})
      *scalar = Tensor<double>({}, Lay::Dense, random);
    step = Tensor<int64_t>({}, Lay::Dense, random);
    param.fill(random, -2, 2);
    grad.fill(random, -1, 1);
    m.fill(random, -1, 1);
    v.fill(random, 0, 1);
    rate[0] = 0.01;
    scale[0] = 0.5;
    step[0] = pick(random, 1, 2000);
    // Results of a kernel have any value before.
    updated.fill(random, 0, 1);
    hasRounded = std::is_same_v<T, float> && pick(random, 0, 1);
  }

  std::string run(const Implementation &implementation) {
    KernelFn kernel =
        implementation.find(isAdam ? "adamw" : "sgd", Element<T>::dtype);
    std::vector<Buffer> ins = {param.buffer(), grad.buffer()}, outs;
    if (isAdam)
      ins.insert(ins.end(), {m.buffer(), v.buffer(), rate.buffer(),
                             step.buffer(), scale.buffer()});
    else
      ins.insert(ins.end(), {rate.buffer(), scale.buffer()});
    outs.push_back((inPlace ? param : updated).buffer());
    if (isAdam) {
      outs.push_back((inPlace ? m : mOut).buffer());
      outs.push_back((inPlace ? v : vOut).buffer());
    }
    if (hasRounded)
      outs.push_back(rounded.buffer());
    std::vector<int64_t> attrs = {bitsOf(decay)};
    if (isAdam)
      attrs = {bitsOf(beta1), bitsOf(beta2), bitsOf(eps), bitsOf(decay)};
    return test::run(kernel, ins, outs, attrs);
  }

  Tensor<T> &newParam() { return inPlace ? param : updated; }
  Tensor<T> &newM() { return inPlace ? m : mOut; }
  Tensor<T> &newV() { return inPlace ? v : vOut; }

  bool isAdam, inPlace = false, hasRounded;
  Tensor<T> param, grad, m, v, updated, mOut, vOut;
  Tensor<BFloat16> rounded;
  Tensor<double> rate, scale;
  Tensor<int64_t> step;
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-6, decay = 0.1;
};

/// As PyTorch writes it (torch/optim/adamw.py and sgd.py, one tensor), in f64.
struct Wanted {
  double param, m, v;

  template <typename T> Wanted(Step<T> &of, int64_t i) {
    param = double(of.param[i]);
    m = double(of.m[i]);
    v = double(of.v[i]);
    double g = double(of.grad[i]) * of.scale[0], rate = of.rate[0];
    if (!of.isAdam) {
      g += of.decay * param;
      param += -rate * g;
      return;
    }
    param *= 1 - rate * of.decay;
    m += (g - m) * (1 - of.beta1);
    v = v * of.beta2 + (1 - of.beta2) * g * g;
    double first = 1 - std::pow(of.beta1, double(of.step[0])),
           second = std::sqrt(1 - std::pow(of.beta2, double(of.step[0])));
    double below = std::sqrt(v) / second + of.eps;
    param += -(rate / first) * (m / below);
  }
};

template <typename T> bool isNear(T got, double want) {
  double epsilon = std::numeric_limits<T>::epsilon();
  return std::fabs(double(got) - want) <= 16 * epsilon * (1 + std::fabs(want));
}

template <typename Fn> void forEachDraw(Fn fn) {
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const Implementation &implementation : implementations())
      for (bool isAdam : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ", " << implementation.name
                     << (isAdam ? ", adamw" : ", sgd"));
        Random random(seed);
        fn(random, implementation, isAdam);
      }
}

template <typename T> void checkStep() {
  forEachDraw([](Random &random, const Implementation &kernels, bool isAdam) {
    Step<T> step(random, isAdam, /*isDense=*/false);
    std::vector<Wanted> wanted;
    for (int64_t i = 0; i < step.param.count(); ++i)
      wanted.emplace_back(step, i);
    ASSERT_EQ(step.run(kernels), "");
    for (int64_t i = 0; i < step.param.count(); ++i) {
      EXPECT_TRUE(isNear(step.updated[i], wanted[size_t(i)].param))
          << i << ": " << step.updated[i] << ", not "
          << wanted[size_t(i)].param;
      if (isAdam) {
        EXPECT_TRUE(isNear(step.mOut[i], wanted[size_t(i)].m)) << i;
        EXPECT_TRUE(isNear(step.vOut[i], wanted[size_t(i)].v)) << i;
      }
      if (step.hasRounded)
        EXPECT_EQ(float(step.rounded[i]),
                  float(BFloat16(float(step.updated[i]))));
    }
    EXPECT_TRUE(step.updated.isIntact() && step.mOut.isIntact() &&
                step.vOut.isIntact() && step.rounded.isIntact());
    // In place, and by several threads, to the same bits.
    auto updated = valuesOf(step.updated), m = valuesOf(step.mOut),
         v = valuesOf(step.vOut);
    step.inPlace = true;
    WithThreads threads(3);
    ASSERT_EQ(step.run(kernels), "");
    EXPECT_TRUE(sameBits(updated, step.param));
    if (isAdam)
      EXPECT_TRUE(sameBits(m, step.m) && sameBits(v, step.v));
  });
}

TEST(UpdateTest, StepsAreThoseOfPyTorch) {
  checkStep<float>();
  checkStep<double>();
}

template <typename T> void checkNoStep() {
  forEachDraw([](Random &random, const Implementation &kernels, bool isAdam) {
    Step<T> step(random, isAdam, /*isDense=*/false);
    step.scale[0] = std::numeric_limits<double>::quiet_NaN();
    // What made the norm so is in the gradient.
    for (int64_t i = 0; i < step.grad.count(); ++i)
      step.grad[i] = std::numeric_limits<T>::infinity();
    ASSERT_EQ(step.run(kernels), "");
    EXPECT_TRUE(sameBits(valuesOf(step.param), step.updated));
    if (isAdam) {
      EXPECT_TRUE(sameBits(valuesOf(step.m), step.mOut));
      EXPECT_TRUE(sameBits(valuesOf(step.v), step.vOut));
    }
  });
}

TEST(UpdateTest, ScaleThatIsNaNChangesNothing) {
  checkNoStep<float>();
  checkNoStep<double>();
}

/// What f32 cannot hold is no reason to add less: sums are of f64.
template <typename T> void checkNorm() {
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", " << implementation.name);
      Random random(seed);
      Tensor<T> x(drawSizes(random), pickLay(random), random);
      x.fill(random, -1, 1);
      Tensor<double> sum({}, Lay::Dense, random);
      double wanted = 0;
      for (int64_t i = 0; i < x.count(); ++i)
        wanted += std::pow(double(AccumulatorOf<T>(x[i])), 2);
      KernelFn kernel = implementation.find("squared_norm", Element<T>::dtype);
      ASSERT_EQ(run(kernel, {x.buffer()}, {sum.buffer()}, {}), "");
      EXPECT_NEAR(sum[0], wanted, 1e-13 * wanted);
      double before = sum[0];
      WithThreads threads(3);
      ASSERT_EQ(run(kernel, {x.buffer()}, {sum.buffer()}, {}), "");
      EXPECT_EQ(sum[0], before);
    }
}

TEST(UpdateTest, SquaredNorm) {
  checkNorm<float>();
  checkNorm<double>();
  checkNorm<BFloat16>();
}

/// The first term takes nothing of what was in the sum.
template <typename T> void checkAccumulate() {
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const Implementation &implementation : implementations())
      for (int64_t index : {0, 1, 7}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ", " << implementation.name << ", "
                     << index);
        Random random(seed);
        std::vector<int64_t> sizes = drawSizes(random);
        Tensor<T> grad(sizes, pickLay(random), random),
            sum(sizes, pickLay(random), random),
            updated(sizes, pickLay(random), random);
        Tensor<int64_t> microBatch({}, Lay::Dense, random);
        microBatch[0] = index;
        grad.fill(random, -1, 1);
        sum.fill(random, -1, 1);
        updated.fill(random, 0, 1);
        std::vector<T> wanted;
        for (int64_t i = 0; i < grad.count(); ++i) {
          if (index == 0)
            sum[i] = std::numeric_limits<T>::quiet_NaN();
          wanted.push_back(index ? sum[i] + grad[i] : grad[i]);
        }
        KernelFn kernel = implementation.find("accumulate", Element<T>::dtype);
        std::vector<Buffer> ins = {grad.buffer(), sum.buffer(),
                                   microBatch.buffer()};
        ASSERT_EQ(run(kernel, ins, {updated.buffer()}, {}), "");
        EXPECT_TRUE(sameBits(wanted, updated));
        EXPECT_TRUE(updated.isIntact());
        WithThreads threads(3);
        ASSERT_EQ(run(kernel, ins, {sum.buffer()}, {}), "");
        EXPECT_TRUE(sameBits(wanted, sum));
      }
}

TEST(UpdateTest, Accumulate) {
  checkAccumulate<float>();
  checkAccumulate<double>();
}

TEST(UpdateTest, NumbersOfAStepAreChecked) {
  for (const Implementation &implementation : implementations()) {
    Random random(1);
    Step<float> step(random, /*adam=*/true, /*isDense=*/true);
    step.step[0] = 0;
    EXPECT_EQ(step.run(implementation),
              "adamw: step must be at least 1, the first one, got 0; count the "
              "steps from 1");
    step.step[0] = 1;
    step.rate[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(step.run(implementation),
              "adamw: rate must be a number, got nan; give another one");
  }
}

TEST(UpdateTest, ErrorsSayWhatToDo) {
  for (const Implementation &implementation : implementations()) {
    Random random(1);
    Step<float> step(random, /*adam=*/true, /*isDense=*/true);
    Tensor<float> sum({2}, Lay::Dense, random), grad({3}, Lay::Dense, random);
    Tensor<int64_t> index({}, Lay::Dense, random);
    EXPECT_EQ(run(implementation.find("accumulate", DType::F32),
                  {grad.buffer(), sum.buffer(), index.buffer()}, {sum.buffer()},
                  {})
                  .substr(0, 20),
              "accumulate: dimensio");
    step.m = Tensor<float>({3, 3, 3, 3, 3}, Lay::Dense, random);
    EXPECT_EQ(step.run(implementation).substr(0, 30),
              "adamw: exp_avg must have rank ");
  }
}

} // namespace
