//===- ZigzagTest.cpp - Mixers with layouts of their own ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixerText.h"
#include "TestModel.h"
#include "cp/Model/Random.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

const char *const scans[] = {"chain", "gather", "doubling", "pipelined",
                             "transposed"};

/// Half of the heads keep most of their state over the whole sequence: steps
/// are near softplus(-0.5) = 0.47 and rates 0.004, so of 96 tokens exp(-0.18)
/// is left. With fast decay alone a lost state would show no error.
std::vector<double> draw(const TensorSpec &spec) {
  std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
  for (size_t i = 0; i < values.size(); ++i) {
    double uniform = uniform01(fnv1a64(spec.name), i);
    if (spec.name == "A_log")
      values[i] = i % 2 ? uniform : std::log(0.004);
    else if (spec.name == "dt_bias")
      values[i] = uniform - 1;
    else
      values[i] = 2 * uniform - 1;
  }
  return values;
}

std::unique_ptr<Program> compiled(const MixerText &mixer) {
  OwningOpRef<ModuleOp> module = parse(mixer.text());
  return module ? test::compile(*module, {}) : nullptr;
}

std::vector<HostTensor> drawAll(const Program &program) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : program.arguments())
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, draw(spec)));
  return tensors;
}

/// The result, or zeros after a test failure.
HostTensor resultOf(const MixerText &mixer, cprt_kernel_set kernels) {
  HostTensor none = HostTensor::zeros(DType::F64, {2, 96, 8});
  std::unique_ptr<Program> program = compiled(mixer);
  EXPECT_TRUE(program) << mixer.text();
  if (!program)
    return none;
  EXPECT_EQ(program->mesh().numRanks(),
            mixer.sequence.empty() ? 1 : mixer.ring * mixer.more * mixer.heads);
  RunResult run = runOrFail(*program, drawAll(*program), kernels);
  for (const CollectiveCount &count : run.collectives)
    EXPECT_NE(count.op, "reorder");
  return run.outputs.empty() ? none : run.outputs[0];
}

HostTensor expected(const MixerText &mixer) {
  MixerText alone;
  alone.groups = mixer.groups;
  alone.type = mixer.type;
  return resultOf(alone, CPRT_KERNELS_REFERENCE);
}

void expectNumbersOfOneRank(const MixerText &mixer, const HostTensor &want,
                            double tolerance) {
  SCOPED_TRACE(mixer.sequence + ", " + std::to_string(mixer.ring) + " x " +
               std::to_string(mixer.more) + " x " +
               std::to_string(mixer.heads) + ", " + mixer.scan + ", " +
               std::to_string(mixer.groups) + " groups");
  for (cprt_kernel_set kernels : {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE})
    EXPECT_LE(compare(resultOf(mixer, kernels), want).relL2, tolerance);
}

TEST(ZigzagTest, EveryNumberOfRanksAndScanGivesTheNumbersOfOneRank) {
  for (int64_t groups : {1, 2}) {
    MixerText mixer{R"("ring" zigzag)"};
    mixer.groups = groups;
    HostTensor want = expected(mixer);
    for (int64_t ranks : {1, 2, 3, 4, 8})
      for (const char *scan : scans) {
        mixer.ring = ranks;
        mixer.scan = scan;
        expectNumbersOfOneRank(mixer, want, 1e-11);
      }
  }
}

/// Groups are fewer than the ranks that share the heads, as many, or more.
TEST(ZigzagTest, HeadsAndSequenceMayBothBeCut) {
  for (int64_t groups : {1, 2}) {
    MixerText mixer;
    mixer.groups = groups;
    HostTensor want = expected(mixer);
    for (const char *sequence : {R"("ring")", R"("ring" zigzag)"})
      for (int64_t heads : {2, 4})
        for (const char *scan : scans)
          expectNumbersOfOneRank({sequence, 2, 1, heads, scan, groups}, want,
                                 1e-11);
  }
}

TEST(ZigzagTest, TheSequenceMayBeCutByTwoAxes) {
  HostTensor want = expected({});
  for (const char *scan : scans) {
    expectNumbersOfOneRank({R"("ring", "more")", 2, 3, 1, scan}, want, 1e-11);
    expectNumbersOfOneRank({R"("more", "ring")", 2, 2, 2, scan}, want, 1e-11);
    // An axis of one rank is no cut.
    expectNumbersOfOneRank({R"("more", "ring" zigzag)", 4, 1, 1, scan}, want,
                           1e-11);
  }
}

/// A part is worked on as the rows of one of twice as many ranks are.
TEST(ZigzagTest, PartsHaveTheBitsOfTwiceAsManyRanks) {
  for (const char *scan : scans)
    for (int64_t ranks : {2, 4}) {
      SCOPED_TRACE(std::string(scan) + ", " + std::to_string(ranks));
      HostTensor parts = resultOf({R"("ring" zigzag)", ranks, 1, 1, scan},
                                  CPRT_KERNELS_REFERENCE),
                 ofRanks = resultOf({R"("ring")", 2 * ranks, 1, 1, scan},
                                    CPRT_KERNELS_REFERENCE);
      EXPECT_TRUE(compare(parts, ofRanks).bitwiseEqual);
    }
}

/// On reference kernels the tolerance is that of SweepTest, and with heads cut
/// as large as three roundings of every element, sqrt(3) 1.6e-3: the terms of
/// the last sum are rounded before ranks add them. Fast kernels are held by
/// f64, as in NarrowSweepTest, with these roundings beside those of one rank.
TEST(ZigzagTest, NarrowTypesRun) {
  MixerText alone;
  alone.groups = 2;
  std::unique_ptr<Program> wide = compiled(alone);
  alone.type = "bf16";
  std::unique_ptr<Program> narrow = compiled(alone);
  ASSERT_TRUE(wide && narrow);
  HostTensor oracle =
      runOrFail(*wide, widened(drawAll(*narrow)), CPRT_KERNELS_REFERENCE)
          .outputs.at(0);
  HostTensor one = expected(alone);
  double plain = compare(one, oracle).relL2;
  for (int64_t heads : {1, 2}) {
    MixerText mixer{R"("ring" zigzag)", 2, 1, heads, "chain", 2, "bf16"};
    double moved = std::ldexp(1.0, heads > 1 ? -8 : -10);
    EXPECT_LE(compare(resultOf(mixer, CPRT_KERNELS_REFERENCE), one).relL2,
              moved);
    double rounding = heads > 1 ? std::hypot(plain, moved) : plain;
    EXPECT_LE(compare(resultOf(mixer, CPRT_KERNELS_FAST), oracle).relL2,
              1.1 * rounding);
  }
}

/// What the comparisons above can see: without its state, and without its rows,
/// a mixer gives other numbers, the first even at the end of the sequence.
TEST(ZigzagTest, TheDrawnInputsShowALostState) {
  std::unique_ptr<Program> program = compiled({});
  ASSERT_TRUE(program);
  std::vector<HostTensor> inputs = drawAll(*program);
  HostTensor want =
      runOrFail(*program, inputs, CPRT_KERNELS_FAST).outputs.at(0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = program->arguments()[i].name;
    if (name != "state" && name != "rows_x" && name != "rows_b")
      continue;
    std::vector<HostTensor> without = inputs;
    without[i] = HostTensor::zeros(DType::F64, without[i].shape);
    HostTensor got =
        runOrFail(*program, without, CPRT_KERNELS_FAST).outputs.at(0);
    EXPECT_GE(compare(got, want).relL2, 1e-4) << name;
    std::vector<double> a = got.asDoubles(), b = want.asDoubles();
    if (name == "state") {
      EXPECT_GE(std::abs(a.back() - b.back()), 1e-3);
    }
  }
}

} // namespace
