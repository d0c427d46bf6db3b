//===- LossTest.cpp - A language model's loss and its adjoint -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradProblem.h"

#include <cmath>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// Labels of which some are ignored, and at times all.
TEST(LossTest, LinearCrossEntropy) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem;
    int64_t b = pick(random, 1, 2), l = pick(random, 1, 5),
            d = pick(random, 1, 4), v = pick(random, 1, 6);
    int64_t ignored = pick(random, 0, 1) ? -100 : v - 1;
    problem.op = "linear_cross_entropy";
    problem.ins = {"h", "weight", "ids"};
    problem.gradIns = {"h",           "weight", "ids", "rows",
                       "results lse", "losses", "lse"};
    problem.gradOuts = {"dh", "dweight"};
    problem.attrs = {ignored, 0};
    problem.hasIds = true;
    problem.ids = Tensor<int64_t>({b, l}, pickLay(random), random);
    for (int64_t i = 0; i < b * l; ++i)
      problem.ids[i] = seed % 7 == 0 || pick(random, 0, 3) == 0
                           ? ignored
                           : pick(random, 0, v - 1);
    problem.add("h", {b, l, d}, random, -2, 2);
    problem.add("weight", {v, d}, random, -2, 2);
    problem.addOut("losses", {b, l}, random);
    problem.addOut("lse", {b, l}, random);
    problem.differentiate(random);
    problem.check();
  }
}

/// Where slices of `rows` rows each start, in any order, behind `first` rows
/// that no slice has.
Tensor<int64_t> drawStarts(int64_t slices, int64_t rows, int64_t first,
                           Random &random) {
  Tensor<int64_t> starts({slices}, pickLay(random), random);
  int64_t turn = pick(random, 0, slices - 1);
  for (int64_t i = 0; i < slices; ++i)
    starts[i] = first + (i + turn) % slices * rows;
  return starts;
}

/// Slices of a vocabulary, of which some rows may be in none.
TEST(LossTest, LinearCrossEntropyOfSlices) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem;
    int64_t b = pick(random, 1, 2), l = pick(random, 1, 5),
            d = pick(random, 1, 4), slices = pick(random, 1, 3),
            rows = pick(random, 1, 4), first = pick(random, 0, 1);
    int64_t vocabulary = first + slices * rows + pick(random, 0, 1);
    problem.op = "linear_cross_entropy";
    problem.ins = {"h", "weight", "ids", "rows"};
    problem.gradIns = {"h",           "weight", "ids", "rows",
                       "results lse", "losses", "lse"};
    problem.gradOuts = {"dh", "dweight"};
    problem.attrs = {-100, vocabulary};
    problem.hasIds = problem.hasRows = true;
    problem.rows = drawStarts(slices, rows, first, random);
    problem.ids = Tensor<int64_t>({b, l}, pickLay(random), random);
    for (int64_t i = 0; i < b * l; ++i)
      problem.ids[i] = pick(random, 0, vocabulary - 1);
    problem.add("h", {b, l, d}, random, -2, 2);
    problem.add("weight", {slices * rows, d}, random, -2, 2);
    problem.addOut("losses", {b, l, slices}, random);
    problem.addOut("lse", {b, l, slices}, random);
    problem.differentiate(random);
    problem.check();
  }
}

/// A vocabulary in slices, put together, against all of it at once in f64.
template <typename T> void checkSlices(Random &random, double tolerance) {
  using Acc = AccumulatorOf<T>;
  int64_t l = pick(random, 1, 9), d = pick(random, 1, 20),
          slices = pick(random, 1, 4),
          rows = pick(random, 0, 3) ? pick(random, 1, 30) : 2100;
  int64_t v = slices * rows;
  Tensor<T> h({1, l, d}, pickLay(random), random),
      weight({v, d}, pickLay(random), random);
  h.fill(random, -1, 1);
  weight.fill(random, -1, 1);
  Tensor<int64_t> starts = drawStarts(slices, rows, 0, random);
  Tensor<int32_t> labels({1, l}, pickLay(random), random);
  for (int64_t i = 0; i < l; ++i)
    labels[i] = int32_t(pick(random, 0, 3) ? pick(random, 0, v - 1) : -100);
  Tensor<Acc> dloss({1, l}, pickLay(random), random);
  dloss.fill(random, -1, 1);

  // All at once, with rows where the slices say that they belong.
  Doubles wideH({1, l, d}, Lay::Dense, random),
      whole({v, d}, Lay::Dense, random), wideDloss({1, l}, Lay::Dense, random);
  for (int64_t i = 0; i < h.count(); ++i)
    wideH[i] = double(Acc(h[i]));
  for (int64_t i = 0; i < v * d; ++i)
    whole[(starts[i / d / rows] + i / d % rows) * d + i % d] =
        double(Acc(weight[i]));
  for (int64_t i = 0; i < l; ++i)
    wideDloss[i] = double(dloss[i]);
  Doubles losses({1, l}, Lay::Dense, random),
      lse = losses, dh({1, l, d}, Lay::Dense, random),
      dweight({v, d}, Lay::Dense, random);
  auto plain = [&](const char *op) {
    return findCpuKernel(op, DType::F64, KernelSet::Reference);
  };
  ASSERT_EQ(test::run(plain("linear_cross_entropy"),
                      {wideH.buffer(), whole.buffer(), labels.buffer()},
                      {losses.buffer(), lse.buffer()}, {-100, 0}),
            "");
  ASSERT_EQ(test::run(plain("linear_cross_entropy_grad"),
                      {wideH.buffer(), whole.buffer(), labels.buffer(), absent,
                       lse.buffer(), wideDloss.buffer()},
                      {dh.buffer(), dweight.buffer()}, {-100, 0}),
            "");

  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    Tensor<Acc> eachLoss({1, l, slices}, pickLay(random), random),
        eachLse({1, l, slices}, pickLay(random), random),
        eachDloss({1, l, slices}, pickLay(random), random),
        eachDlse({1, l, slices}, pickLay(random), random),
        sliceDweight({v, d}, pickLay(random), random);
    Tensor<T> sliceDh({1, l, d}, pickLay(random), random);
    ASSERT_EQ(
        test::run(
            implementation.find("linear_cross_entropy", Element<T>::dtype),
            {h.buffer(), weight.buffer(), labels.buffer(), starts.buffer()},
            {eachLoss.buffer(), eachLse.buffer()}, {-100, v}),
        "");
    for (int64_t i = 0; i < l; ++i) {
      double sum = 0, loss = 0;
      for (int64_t s = 0; s < slices; ++s)
        sum += std::exp(double(eachLse[i * slices + s]));
      for (int64_t s = 0; s < slices; ++s)
        loss += double(eachLoss[i * slices + s]);
      EXPECT_NEAR(std::log(sum), lse[i], tolerance * 10);
      EXPECT_NEAR(std::log(sum) + loss, losses[i], tolerance * 10);
      for (int64_t s = 0; s < slices; ++s) {
        eachDloss[i * slices + s] = dloss[i];
        eachDlse[i * slices + s] = Acc(
            double(dloss[i]) * std::exp(double(eachLse[i * slices + s])) / sum);
      }
    }
    ASSERT_EQ(
        test::run(
            implementation.find("linear_cross_entropy_grad", Element<T>::dtype),
            {h.buffer(), weight.buffer(), labels.buffer(), starts.buffer(),
             eachLse.buffer(), eachDloss.buffer(), eachDlse.buffer()},
            {sliceDh.buffer(), sliceDweight.buffer()}, {-100, v}),
        "");
    for (int64_t i = 0; i < l * d; ++i)
      EXPECT_NEAR(double(Acc(sliceDh[i])), dh[i],
                  sizeof(T) == 2 ? 0.02 : tolerance * 10);
    for (int64_t i = 0; i < v * d; ++i)
      EXPECT_NEAR(double(sliceDweight[i]),
                  dweight[(starts[i / d / rows] + i / d % rows) * d + i % d],
                  tolerance * 10);
  }
}

TEST(LossTest, SlicesAreAVocabulary) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    checkSlices<double>(random, 1e-14);
    checkSlices<float>(random, 2e-6);
    checkSlices<BFloat16>(random, 2e-6);
  }
}

/// The loss and its adjoint, fast, against the plain kernels in f64 on the same
/// numbers: sizes beyond what is taken at once, layouts with gaps, ignored
/// tokens, with and without a cotangent of lse.
template <typename T> void checkFastLoss(Random &random, double tolerance) {
  using Acc = AccumulatorOf<T>;
  int64_t b = pick(random, 1, 2),
          l = pick(random, 0, 3) ? pick(random, 1, 9) : pick(random, 250, 300),
          d = pick(random, 1, 40),
          v = pick(random, 0, 3) ? pick(random, 1, 50)
                                 : pick(random, 2040, 4200);
  int64_t ignored = pick(random, 0, 1) ? -100 : v - 1;
  bool hasDlse = pick(random, 0, 1);
  auto draw = [&](auto &narrow, std::vector<int64_t> sizes, double range) {
    narrow = std::decay_t<decltype(narrow)>(sizes, pickLay(random), random);
    narrow.fill(random, -range, range);
    Doubles wide(sizes, pickLay(random), random);
    for (int64_t i = 0; i < wide.count(); ++i)
      wide[i] = double(narrow[i]);
    return wide;
  };
  Tensor<T> h, weight;
  Tensor<Acc> lse, dloss, dlse;
  Doubles wideH = draw(h, {b, l, d}, 3), wideWeight = draw(weight, {v, d}, 1),
          wideDloss = draw(dloss, {b, l}, 1), wideDlse = draw(dlse, {b, l}, 1);
  Tensor<int64_t> labels({b, l}, pickLay(random), random);
  for (int64_t i = 0; i < b * l; ++i)
    labels[i] = pick(random, 0, 3) ? pick(random, 0, v - 1) : ignored;
  auto near = [&](const char *name, auto &got, Doubles &want, double scale) {
    double error = 0, norm = 0;
    for (int64_t i = 0; i < want.count(); ++i) {
      double off = double(got[i]) - want[i];
      error += off * off;
      norm += want[i] * want[i];
    }
    EXPECT_LE(std::sqrt(error), scale * tolerance * std::sqrt(norm) + 1e-30)
        << name;
    EXPECT_TRUE(got.isIntact()) << name;
  };
  auto plain = [](const char *op) {
    return findCpuKernel(op, DType::F64, KernelSet::Reference);
  };
  Doubles losses({b, l}, Lay::Dense, random), wideLse = losses;
  ASSERT_EQ(test::run(plain("linear_cross_entropy"),
                      {wideH.buffer(), wideWeight.buffer(), labels.buffer()},
                      {losses.buffer(), wideLse.buffer()}, {ignored, 0}),
            "");
  Doubles dh(wideH.sizes, Lay::Dense, random),
      dweight(wideWeight.sizes, Lay::Dense, random);
  ASSERT_EQ(test::run(plain("linear_cross_entropy_grad"),
                      {wideH.buffer(), wideWeight.buffer(), labels.buffer(),
                       absent, wideLse.buffer(), wideDloss.buffer(),
                       hasDlse ? wideDlse.buffer() : absent},
                      {dh.buffer(), dweight.buffer()}, {ignored, 0}),
            "");
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    Tensor<Acc> fastLosses({b, l}, pickLay(random), random),
        fastLse({b, l}, pickLay(random), random),
        fastDweight({v, d}, pickLay(random), random);
    Tensor<T> fastDh({b, l, d}, pickLay(random), random);
    KernelFn loss =
        implementation.find("linear_cross_entropy", Element<T>::dtype);
    KernelFn grad =
        implementation.find("linear_cross_entropy_grad", Element<T>::dtype);
    ASSERT_TRUE(loss && grad);
    ASSERT_EQ(test::run(loss, {h.buffer(), weight.buffer(), labels.buffer()},
                        {fastLosses.buffer(), fastLse.buffer()}, {ignored, 0}),
              "");
    near("losses", fastLosses, losses, 1);
    near("lse", fastLse, wideLse, 1);
    ASSERT_EQ(test::run(grad,
                        {h.buffer(), weight.buffer(), labels.buffer(), absent,
                         fastLse.buffer(), dloss.buffer(),
                         hasDlse ? dlse.buffer() : absent},
                        {fastDh.buffer(), fastDweight.buffer()}, {ignored, 0}),
              "");
    // A cotangent of an activation is rounded to its type.
    near("dh", fastDh, dh, sizeof(T) == 2 ? 400 : 2);
    near("dweight", fastDweight, dweight, 2);
  }
}

TEST(LossTest, FastLosses) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    checkFastLoss<double>(random, 1e-13);
    checkFastLoss<float>(random, 2e-6);
    checkFastLoss<BFloat16>(random, 1e-5);
  }
}

/// Not a number stays one, and with its token, wherever in the vocabulary it
/// comes up.
TEST(LossTest, LossesKeepNaN) {
  const int64_t l = 3, d = 4, v = 5000;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Random random(3);
  Tensor<float> h({1, l, d}, Lay::Dense, random),
      weight({v, d}, Lay::Dense, random);
  Tensor<int32_t> labels({1, l}, Lay::Dense, random);
  h.fill(random, -1, 1);
  weight.fill(random, -1, 1);
  for (int64_t i = 0; i < l; ++i)
    labels[i] = 7;
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    auto run = [&]() {
      Tensor<float> losses({1, l}, Lay::Dense, random), lse = losses;
      EXPECT_EQ(
          test::run(implementation.find("linear_cross_entropy", DType::F32),
                    {h.buffer(), weight.buffer(), labels.buffer()},
                    {losses.buffer(), lse.buffer()}, {-100, 0}),
          "");
      return losses;
    };
    Tensor<float> sound = run();
    float before = h[5];
    h[5] = nan;
    Tensor<float> losses = run();
    h[5] = before;
    EXPECT_EQ(losses[0], sound[0]);
    EXPECT_TRUE(std::isnan(losses[1]));
    EXPECT_EQ(losses[2], sound[2]);
    for (int64_t word : {int64_t(0), int64_t(3000), v - 1}) {
      float was = weight[word * d];
      weight[word * d] = nan;
      losses = run();
      weight[word * d] = was;
      for (int64_t i = 0; i < l; ++i)
        EXPECT_TRUE(std::isnan(losses[i])) << word;
    }
  }
}

/// Against the definition, at logits whose exponentials overflow.
TEST(LossTest, LossOfLargeLogits) {
  Random random(2);
  Tensor<float> h({1, 2, 1}, Lay::Dense, random),
      weight({3, 1}, Lay::Dense, random), losses({1, 2}, Lay::Dense, random),
      lse({1, 2}, Lay::Dense, random);
  Tensor<int32_t> labels({1, 2}, Lay::Dense, random);
  h[0] = 1000;
  h[1] = -1000;
  weight[0] = 1, weight[1] = 2, weight[2] = 2;
  labels[0] = 0, labels[1] = 0;
  ASSERT_EQ(test::run(findCpuKernel("linear_cross_entropy", DType::F32,
                                    KernelSet::Reference),
                      {h.buffer(), weight.buffer(), labels.buffer()},
                      {losses.buffer(), lse.buffer()}, {-100, 0}),
            "");
  EXPECT_FLOAT_EQ(lse[0], 2000 + std::log(2.0f));
  EXPECT_FLOAT_EQ(losses[0], 1000 + std::log(2.0f));
  EXPECT_FLOAT_EQ(lse[1], -1000);
  EXPECT_EQ(losses[1], 0);
}

} // namespace
