//===- SsdFormsTest.cpp - The forms of a scan beside each other -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters and warpgroups against blocks and warps, which other tests compare
// with a reference.
//
//===----------------------------------------------------------------------===//

#include "SsdForms.h"

#include <algorithm>
#include <cmath>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

using Problem = SsdProblem<BFloat16>;

/// The bits of y and of the final state.
std::vector<uint16_t> bitsOfScan(Problem problem, const Form &form) {
  WithForm with(form.blocksOfCluster, form.byWarpgroups);
  EXPECT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)), "");
  std::vector<uint16_t> bits;
  for (Tensor<BFloat16> *tensor : {&problem.y, &problem.finalState})
    for (int64_t i = 0; i < tensor->count(); ++i)
      bits.push_back((*tensor)[i].bits);
  return bits;
}

/// Clusters only move what blocks would load.
void expectSameBits(const Problem &problem) {
  for (int i = 0; i < 4; i += 2)
    if (forms[i + 1].isThere())
      EXPECT_EQ(bitsOfScan(problem, forms[i]),
                bitsOfScan(problem, forms[i + 1]));
}

/// In clusters of eight, four and two blocks, several clusters in a group and
/// several groups, in one piece and in segments, with and without documents,
/// whose first tiles are not whole.
TEST(SsdFormsTest, ClustersGiveTheBitsOfBlocks) {
  const SsdShape shapes[] = {
      {1, 200, 8, 64, 1, 128, 64}, {1, 130, 24, 64, 1, 128, 64},
      {1, 200, 8, 64, 2, 128, 64}, {2, 600, 2, 64, 1, 64, 64},
      {1, 192, 4, 128, 1, 64, 64}, {1, 77, 6, 72, 1, 128, 64},
  };
  for (const SsdShape &shape : shapes)
    for (bool hasDocuments : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << shape.h << " heads, " << shape.l << " tokens, "
                   << (hasDocuments ? "documents" : "one sequence"));
      Problem problem = denseProblem(shape, 7);
      Random random(3);
      if (hasDocuments)
        problem.documents = Batch(shape.b, shape.l, random);
      expectSameBits(problem);
    }
}

/// Many tiles a block, on a card as many blocks as run at once.
TEST(SsdFormsTest, LargeResultsHaveTheBitsOfBlocks) {
  Problem problem = denseProblem({8, 4096, 24, 64, 1, 128, 64}, 9);
  std::vector<uint16_t> alone = bitsOfScan(problem, {"blocks", 1, false});
  std::vector<uint16_t> groups = bitsOfScan(problem, {"groups", 1, true});
  if (!hasClusters())
    GTEST_SKIP() << "this card has no clusters";
  for (int blocks : {2, 4, 8})
    for (int times = 0; times < 2; ++times) {
      EXPECT_TRUE(bitsOfScan(problem, {"", blocks, false}) == alone) << blocks;
      EXPECT_TRUE(bitsOfScan(problem, {"", blocks, true}) == groups) << blocks;
    }
}

/// Of the last tile, which is not whole, nothing is stored behind its tokens.
TEST(SsdFormsTest, StoresNothingBehindTheLastToken) {
  for (const Form &form : forms) {
    if (!form.isThere())
      continue;
    SCOPED_TRACE(form.name);
    WithForm with(form.blocksOfCluster, form.byWarpgroups);
    Problem problem = denseProblem({1, 72, 2, 64, 1, 128, 64}, 10);
    Random random(5);
    problem.y = Tensor<BFloat16>({1, 80, 2, 64}, Lay::Dense, random);
    problem.y.sizes[1] = 72;
    ASSERT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)),
              "");
    EXPECT_TRUE(problem.y.isIntact());
  }
}

/// The same numbers in rows that are so many elements apart.
void stretch(Tensor<BFloat16> &tensor, int64_t by, Random &random) {
  std::vector<int64_t> sizes = tensor.sizes;
  sizes.back() += by;
  Tensor<BFloat16> wider(sizes, Lay::Dense, random);
  wider.sizes = tensor.sizes;
  for (int64_t i = 0; i < tensor.count(); ++i)
    wider[i] = tensor[i];
  tensor = wider;
}

/// One B and one C for all sequences: no box has steps of 0.
TEST(SsdFormsTest, SequencesShareBAndC) {
  Problem problem = denseProblem({3, 130, 4, 64, 1, 128, 64}, 11);
  for (Tensor<BFloat16> *tensor : {&problem.B, &problem.C}) {
    for (int64_t i = 0, each = tensor->count() / 3; i < 2 * each; ++i)
      (*tensor)[each + i] = (*tensor)[i];
    tensor->strides[0] = 0;
  }
  expectSameBits(problem);
  problem.prepare();
  problem.allowFor(implementations().back());
  ASSERT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)), "");
  expectMatches(problem);
}

/// B and C in rows that are not equally far apart, and, of 3 elements more,
/// that cannot be copied 16 bytes at a time.
TEST(SsdFormsTest, RowsLieAsTheyMay) {
  for (auto [b, c] :
       {std::pair(8, 24), std::pair(16, 0), std::pair(3, 0), std::pair(0, 3)}) {
    SCOPED_TRACE(testing::Message() << b << " and " << c << " between rows");
    Problem problem = denseProblem({1, 192, 8, 64, 1, 128, 64}, 7);
    Random random(4);
    stretch(problem.B, b, random);
    stretch(problem.C, c, random);
    expectSameBits(problem);
  }
}

/// A number that is none reaches what it would have reached, in every form:
/// later tokens of its head, or of all heads.
void expectNoNumberReachesTheSame(bool isInB, int64_t states) {
  SCOPED_TRACE(isInB ? "in B" : "in x");
  Problem problem = denseProblem({1, 200, 8, 64, 1, states, 64}, 8);
  (isInB ? problem.B(0, 70, 0, 3) : problem.x(0, 70, 2, 5)) = BFloat16(NAN);
  int64_t before = numRepairs();
  std::vector<uint16_t> plain = bitsOfScan(problem, forms[0]);
  EXPECT_EQ(numRepairs() > before, countsRepairs());
  auto value = [](uint16_t bits) {
    BFloat16 number;
    number.bits = bits;
    return float(number);
  };
  EXPECT_TRUE(std::any_of(plain.begin(), plain.end(), [&](uint16_t bits) {
    return std::isnan(value(bits));
  }));
  for (const Form &form : forms) {
    if (!form.isThere())
      continue;
    SCOPED_TRACE(form.name);
    std::vector<uint16_t> bits = bitsOfScan(problem, form);
    for (size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(std::isnan(value(bits[i])), std::isnan(value(plain[i]))) << i;
      if (!std::isnan(value(plain[i])))
        ASSERT_NEAR(value(bits[i]), value(plain[i]),
                    0.02 * (1 + std::fabs(value(plain[i]))))
            << i;
    }
  }
}

TEST(SsdFormsTest, NoNumberReachesTheSameInEveryForm) {
  for (bool isInB : {false, true})
    for (int64_t states : {128, 256})
      expectNoNumberReachesTheSame(isInB, states);
}

} // namespace
