//===- LocalAdjointTest.cpp - Partitioned, then differentiated ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second route to a backward pass: the program of one rank is
// differentiated, with its exchanges. Its gradients must be those of the
// program that has none.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "MixerText.h"
#include "TestModel.h"
#include "cp/Model/Random.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

void expectNear(const RunResult &result, const RunResult &expected,
                const Program &program) {
  ASSERT_EQ(result.outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < result.outputs.size(); ++i)
    EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2, 1e-11)
        << program.results()[i].name;
}

//===----------------------------------------------------------------------===//
// Programs that the partitioner cuts
//===----------------------------------------------------------------------===//

class LocalAdjointTest : public testing::TestWithParam<GradientCase> {};

TEST_P(LocalAdjointTest, TheTwoRoutesAgree) {
  std::string text = textOf(GetParam());
  std::unique_ptr<Program> whole = cutAndDifferentiated(
      text, [](OpPassManager &manager) { manager.addPass(createDecompose()); },
      {});
  ASSERT_TRUE(whole);
  std::vector<HostTensor> inputs = drawForGradients(whole->arguments());
  RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
  for (const Sharding &sharding : gradientShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> cut = cutAndDifferentiated(
        text,
        [&](OpPassManager &manager) {
          buildShardPipeline(manager, sharding, /*expose=*/false);
        },
        {});
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->mesh().numRanks(), sharding.mesh.numRanks());
    for (cprt_kernel_set kernels : {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE})
      expectNear(runOrFail(*cut, inputs, kernels), expected, *cut);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LocalAdjointTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

//===----------------------------------------------------------------------===//
// Mixers with layouts of their own
//===----------------------------------------------------------------------===//

std::unique_ptr<Program> gradientsOf(const MixerText &mixer) {
  DifferentiateOptions options;
  options.cotangents = true;
  options.wrt = {"tokens", "to_z",   "to_x",   "to_b",      "to_c",    "to_dt",
                 "conv_x", "conv_b", "conv_c", "conv_bias", "dt_bias", "A_log",
                 "D",      "norm",   "to_out", "rows_x",    "rows_b",  "state"};
  return cutAndDifferentiated(
      mixer.text(),
      [&](OpPassManager &manager) {
        if (!mixer.sequence.empty())
          buildPartitionPipeline(manager);
      },
      options);
}

/// Half of the heads keep most of their state over the whole sequence, so that
/// a cotangent that is lost on its way to the first rank shows.
std::vector<HostTensor> drawSlow(const Program &program) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : program.arguments()) {
    std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
    for (size_t i = 0; i < values.size(); ++i) {
      double uniform = uniform01(fnv1a64(spec.name), i);
      values[i] = 2 * uniform - 1;
      if (spec.name == "A_log")
        values[i] = i % 2 ? uniform : std::log(0.004);
      else if (spec.name == "dt_bias")
        values[i] = uniform - 1;
    }
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

class LocalMixerTest : public testing::Test {
protected:
  void expectGradientsOfOneRank(MixerText mixer) {
    mixer.givesState = true;
    SCOPED_TRACE(mixer.sequence + ", " + std::to_string(mixer.ring) + " x " +
                 std::to_string(mixer.more) + " x " +
                 std::to_string(mixer.heads) + ", " + mixer.scan + ", " +
                 std::to_string(mixer.groups) + " groups");
    MixerText alone;
    alone.groups = mixer.groups;
    alone.givesState = true;
    std::unique_ptr<Program> whole = gradientsOf(alone),
                             cut = gradientsOf(mixer);
    ASSERT_TRUE(whole && cut);
    std::vector<HostTensor> inputs = drawSlow(*whole);
    expectNear(runOrFail(*cut, inputs, CPRT_KERNELS_FAST),
               runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE), *cut);
  }
};

const char *const scans[] = {"chain", "gather", "doubling", "pipelined",
                             "transposed"};

TEST_F(LocalMixerTest, EveryScanOfASequenceInBlocks) {
  for (const char *scan : scans)
    for (int64_t ranks : {2, 3, 4})
      expectGradientsOfOneRank({R"("ring")", ranks, 1, 1, scan});
}

TEST_F(LocalMixerTest, EveryScanOfASequenceInZigzag) {
  for (const char *scan : scans)
    for (int64_t ranks : {2, 3, 4})
      expectGradientsOfOneRank({R"("ring" zigzag)", ranks, 1, 1, scan});
}

/// In zigzag order of one row a part, whose windows read three others.
TEST_F(LocalMixerTest, ShardsShorterThanTheWindow) {
  for (const char *sequence : {R"("ring")", R"("ring" zigzag)"})
    expectGradientsOfOneRank({sequence, 48, 1, 1});
}

TEST_F(LocalMixerTest, HeadsAndSequence) {
  for (const char *sequence : {R"("ring")", R"("ring" zigzag)"})
    for (int64_t heads : {2, 4})
      for (int64_t groups : {1, 2})
        expectGradientsOfOneRank({sequence, 2, 1, heads, "chain", groups});
}

TEST_F(LocalMixerTest, TwoAxes) {
  for (const char *scan : scans) {
    expectGradientsOfOneRank({R"("ring", "more")", 2, 3, 1, scan});
    expectGradientsOfOneRank({R"("more", "ring")", 2, 2, 2, scan});
  }
}

//===----------------------------------------------------------------------===//
// The halves of a scan
//===----------------------------------------------------------------------===//

/// From a state that is given in two ways, by a prefix of what came before.
std::string scanText(const std::string &scan) {
  return R"(
!x = tensor<2x9x4x3xf64>
!bc = tensor<2x9x2x5xf64>
!dt = tensor<2x9x4xf64>
!head = tensor<4xf64>
!decay = tensor<2x4xf64>
!state = tensor<2x4x3x5xf64>
!chunks = tensor<2x3x4x3x5xf64>
func.func @main(%x: !x {cp.name = "x"}, %dt: !dt {cp.name = "dt"},
    %a: !head {cp.name = "A_log"}, %b: !bc {cp.name = "B"}, %c: !bc {cp.name = "C"},
    %d: !head {cp.name = "D"}, %bias: !head {cp.name = "dt_bias"},
    %pd: !decay {cp.name = "prefix_decay"}, %ps: !state {cp.name = "prefix_state"},
    %s: !state {cp.name = "initial"}) -> (!x, !state) attributes {cp.view = "local"} {
)" + scan +
         R"(
  return %y, %final : !x, !state
})";
}

TEST(LocalScanTest, TheHalvesHaveTheAdjointOfTheWhole) {
  DifferentiateOptions options;
  options.cotangents = true;
  options.wrt = {"x",       "dt",           "A_log",        "B",      "C", "D",
                 "dt_bias", "prefix_decay", "prefix_state", "initial"};
  auto asTheyAre = [](OpPassManager &) {};
  std::unique_ptr<Program> whole = cutAndDifferentiated(scanText(R"(
  %e = tensor.empty() : !state
  %before = linalg.generic {indexing_maps = [
      affine_map<(b, h, p, n) -> (b, h)>, affine_map<(b, h, p, n) -> (b, h, p, n)>,
      affine_map<(b, h, p, n) -> (b, h, p, n)>, affine_map<(b, h, p, n) -> (b, h, p, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%pd, %ps, %s : !decay, !state, !state) outs(%e : !state) {
  ^bb0(%decay: f64, %prefix: f64, %initial: f64, %none: f64):
    %0 = arith.mulf %decay, %initial : f64
    %1 = arith.addf %0, %prefix : f64
    linalg.yield %1 : f64
  } -> !state
  %y, %final = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) D(%d) dt_bias(%bias)
      initial(%before) {chunk_size = 4}
      : (!x, !dt, !head, !bc, !bc, !head, !head, !state) -> (!x, !state)
)"),
                                                        asTheyAre, options),
                           halves = cutAndDifferentiated(scanText(R"(
  %own, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a) B(%b)
      dt_bias(%bias) {chunk_size = 4}
      : (!x, !dt, !head, !bc, !head) -> (!decay, !state, !chunks, !dt)
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) D(%d) kept(%chunks, %delta)
      prefix(%pd, %ps) initial(%s) {chunk_size = 4}
      : (!x, !head, !bc, !bc, !head, !chunks, !dt, !decay, !state, !state)
      -> (!x, !state)
)"),
                                                         asTheyAre, options);
  ASSERT_TRUE(whole && halves);
  std::vector<HostTensor> inputs = drawSlow(*whole);
  expectNear(runOrFail(*halves, inputs, CPRT_KERNELS_FAST),
             runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE), *halves);
}

} // namespace
