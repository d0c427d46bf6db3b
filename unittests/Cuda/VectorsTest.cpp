//===- VectorsTest.cpp - Rows that are read 16 bytes at a time ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense tensors of the widths at which the norm and the convolution of cards
// change their ways, and more rows than there are blocks, against the plain
// kernels.
//
//===----------------------------------------------------------------------===//

#include "Documents.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

template <typename T> class VectorsTest : public testing::Test {
protected:
  Random random = Random(1);

  Tensor<T> drawn(std::vector<int64_t> sizes) {
    Tensor<T> tensor(std::move(sizes), Lay::Dense, random);
    tensor.fill(random, -2, 2);
    return tensor;
  }

  /// What both give for these inputs, which is `sizes` large.
  void compare(const char *op, const std::vector<Buffer> &ins,
               const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &attrs) {
    Tensor<T> results[2];
    for (int i = 0; i < 2; ++i) {
      results[i] = Tensor<T>(sizes, Lay::Dense, random);
      const Implementation &implementation =
          i ? implementations().back() : implementations().front();
      ASSERT_EQ(run(implementation.find(op, Element<T>::dtype), ins,
                    {results[i].buffer()}, attrs),
                "");
    }
    expectNear(results[0], results[1]);
  }

  /// The same of cotangents, which are tensors of T and then sums over rows.
  void compareGradients(const char *op, const std::vector<Buffer> &ins,
                        const std::vector<std::vector<int64_t>> &sizes,
                        const std::vector<bool> &areSums,
                        const std::vector<int64_t> &attrs) {
    using Acc = AccumulatorOf<T>;
    std::vector<Tensor<T>> results[2];
    std::vector<Tensor<Acc>> sums[2];
    for (int i = 0; i < 2; ++i) {
      std::vector<Buffer> outs;
      for (size_t out = 0; out < sizes.size(); ++out) {
        results[i].emplace_back(sizes[out], Lay::Dense, random);
        sums[i].emplace_back(sizes[out], Lay::Dense, random);
      }
      for (size_t out = 0; out < sizes.size(); ++out)
        outs.push_back(areSums[out] ? sums[i][out].buffer()
                                    : results[i][out].buffer());
      const Implementation &implementation =
          i ? implementations().back() : implementations().front();
      ASSERT_EQ(
          run(implementation.find(op, Element<T>::dtype), ins, outs, attrs),
          "");
    }
    for (size_t out = 0; out < sizes.size(); ++out) {
      SCOPED_TRACE(testing::Message() << "result " << out);
      if (areSums[out])
        expectNear(sums[0][out], sums[1][out]);
      else
        expectNear(results[0][out], results[1][out]);
    }
  }

private:
  template <typename E>
  static void expectNear(Tensor<E> &plain, Tensor<E> &got) {
    for (int64_t i = 0; i < plain.count(); ++i) {
      auto expected = double(AccumulatorOf<E>(plain[i]));
      double allowed = tolerance<T>() * (1 + std::fabs(expected)) +
                       2 * storageRounding<E>() * std::fabs(expected);
      ASSERT_NEAR(double(AccumulatorOf<E>(got[i])), expected, allowed) << i;
    }
  }
};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(VectorsTest, Floats);

struct Width {
  int64_t channels, groups;
};

TYPED_TEST(VectorsTest, Norms) {
  using T = TypeParam;
  // From one vector a thread on one warp to four on eight; with a rest.
  for (Width width :
       {Width{64, 1}, Width{256, 2}, Width{768, 1}, Width{1000, 1},
        Width{2048, 1}, Width{4096, 1}, Width{4096, 4}, Width{8192, 1}}) {
    // More rows than blocks go through at once.
    const std::vector<int64_t> sizes = {2, 17, width.channels};
    Tensor<T> x = this->drawn(sizes), gate = this->drawn(sizes),
              weight = this->drawn({width.channels});
    for (int64_t gateFirst : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << width.channels << " channels in " << width.groups
                   << " groups, gate first " << gateFirst);
      const std::vector<int64_t> attrs = {bitsOf(1e-5), gateFirst,
                                          width.groups};
      this->compare("rms_norm", {x.buffer(), weight.buffer(), gate.buffer()},
                    sizes, attrs);
      this->compare("rms_norm", {x.buffer(), weight.buffer()}, sizes, attrs);
      this->compare("rms_norm", {x.buffer(), absent, gate.buffer()}, sizes,
                    attrs);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

TYPED_TEST(VectorsTest, CotangentsOfNorms) {
  using T = TypeParam;
  for (Width width : {Width{64, 1}, Width{256, 2}, Width{768, 1},
                      Width{2048, 1}, Width{4096, 4}, Width{8192, 1}}) {
    const std::vector<int64_t> sizes = {2, 17, width.channels};
    Tensor<T> x = this->drawn(sizes), gate = this->drawn(sizes),
              dy = this->drawn(sizes), weight = this->drawn({width.channels});
    for (int64_t gateFirst : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << width.channels << " channels in " << width.groups
                   << " groups, gate first " << gateFirst);
      const std::vector<int64_t> attrs = {bitsOf(1e-5), gateFirst,
                                          width.groups};
      this->compareGradients(
          "rms_norm_grad",
          {x.buffer(), dy.buffer(), weight.buffer(), gate.buffer()},
          {sizes, {width.channels}, sizes}, {false, true, false}, attrs);
      this->compareGradients("rms_norm_grad",
                             {x.buffer(), dy.buffer(), weight.buffer()},
                             {sizes, {width.channels}}, {false, true}, attrs);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

TYPED_TEST(VectorsTest, CotangentsOfConvolutions) {
  using T = TypeParam;
  const int64_t b = 2;
  // Strips and a rest, and fewer rows than a window.
  for (int64_t l : {100, 64, 33, 2})
    for (int64_t channels : {4, 136}) {
      Tensor<T> x = this->drawn({b, l, channels}),
                dy = this->drawn({b, l, channels}),
                weight = this->drawn({channels, 4}),
                bias = this->drawn({channels}),
                initial = this->drawn({b, 3, channels});
      Batch documents(b, l, this->random);
      for (int64_t silu : {0, 1})
        for (bool isWhole : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << l << " rows of " << channels << " channels, silu "
                       << silu << ", " << isWhole);
          Buffer places = isWhole ? absent : documents.places.buffer();
          this->compareGradients(
              "conv1d_grad",
              {x.buffer(), weight.buffer(), dy.buffer(), bias.buffer(),
               initial.buffer(), places},
              {{b, l, channels}, {channels, 4}, {channels}, {b, 3, channels}},
              {false, true, true, false}, {silu});
          this->compareGradients(
              "conv1d_grad", {x.buffer(), weight.buffer(), dy.buffer()},
              {{b, l, channels}, {channels, 4}, {channels}, {b, 3, channels}},
              {false, true, true, false}, {silu});
          if (testing::Test::HasFatalFailure())
            return;
        }
    }
}

TYPED_TEST(VectorsTest, Convolutions) {
  using T = TypeParam;
  const int64_t b = 2, l = 290;
  for (int64_t channels : {8, 264}) {
    Tensor<T> x = this->drawn({b, l, channels}),
              weight = this->drawn({channels, 4}),
              bias = this->drawn({channels}),
              initial = this->drawn({b, 3, channels});
    Batch documents(b, l, this->random);
    for (int64_t silu : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << channels << " channels, silu " << silu);
      const std::vector<int64_t> sizes = {b, l, channels};
      this->compare("conv1d",
                    {x.buffer(), weight.buffer(), bias.buffer(),
                     initial.buffer(), documents.places.buffer()},
                    sizes, {silu});
      this->compare(
          "conv1d",
          {x.buffer(), weight.buffer(), bias.buffer(), initial.buffer()}, sizes,
          {silu});
      this->compare("conv1d", {x.buffer(), weight.buffer()}, sizes, {silu});
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

} // namespace
