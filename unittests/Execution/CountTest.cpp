//===- CountTest.cpp - Counted calls and bytes against formulas -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gtest/gtest.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Calls, and bytes that each rank sends.
using Count = std::pair<int64_t, std::vector<int64_t>>;
using Counts = std::map<std::string, Count>;

/// Batch, groups, type.
using Case = std::tuple<int64_t, int64_t, std::string>;

class CountTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    auto [batch, groups, dtype] = GetParam();
    config = smallConfig(groups);
    b = batch;
    e = dtype == "f64" ? 8 : 4;
    module = importMamba2(config, {batch, sequenceLength, dtype},
                          UnknownLoc::get(&context()));
    ASSERT_TRUE(module);
  }

  Counts measure(const TestSharding &sharding) {
    std::unique_ptr<Program> program = compile(*module, sharding);
    if (!program)
      return {};
    RunOptions options;
    // Counters are those of one step, however many there are.
    options.repeats = 2;
    std::vector<HostTensor> inputs =
        drawInputs(program->arguments(), config, Decay::AsPublished, 7);
    llvm::Expected<RunResult> result =
        program->run(pointersTo(inputs), options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    Counts counts;
    for (const CollectiveCount &count : result->collectives) {
      EXPECT_EQ(count.axes, std::vector<std::string>{"cp"});
      counts[count.op] = {count.calls, count.bytesSentPerRank};
    }
    return counts;
  }

  Mamba2Config config;
  int64_t b = 1, e = 4;
  OwningOpRef<ModuleOp> module;
};

TEST_P(CountTest, HiddenMovesActivationsTwiceALayer) {
  for (int64_t R : {2, 4, 8}) {
    SCOPED_TRACE(R);
    int64_t l = sequenceLength / R, inner = config.innerSize();
    int64_t H = config.numHeads, N = config.stateSize;
    int64_t Ge = std::max(config.numGroups, R);
    // A rank keeps 1/R of what it has: f = (R-1)/R.
    int64_t pre = b * l * (inner + 2 * Ge * N + H) * e * (R - 1) / R;
    int64_t post = b * l * inner * e * (R - 1) / R;
    std::vector<int64_t> bytes(R, config.numLayers * (pre + post));
    EXPECT_EQ(measure({"hidden", "chain", R}),
              (Counts{{"all_to_all", {2 * config.numLayers, bytes}}}));
  }
}

TEST_P(CountTest, SequenceMovesAHaloAndASummaryALayer) {
  for (int64_t R : {2, 4, 8}) {
    SCOPED_TRACE(R);
    int64_t H = config.numHeads, P = config.headDim, N = config.stateSize;
    int64_t channels = config.innerSize() + 2 * config.numGroups * N;
    int64_t halo = b * (config.convKernel - 1) * channels * e;
    int64_t m = b * (H * P * N + H) * e;
    int64_t layers = config.numLayers;
    std::vector<int64_t> halos(R, layers * halo), chain(R, layers * m);
    // The last rank has nobody after it.
    halos.back() = chain.back() = 0;
    std::vector<int64_t> gather(R, layers * (R - 1) * m);
    EXPECT_EQ(
        measure({"sequence", "chain", R}),
        (Counts{{"halo", {layers, halos}}, {"scan_state", {layers, chain}}}));
    EXPECT_EQ(
        measure({"sequence", "gather", R}),
        (Counts{{"halo", {layers, halos}}, {"scan_state", {layers, gather}}}));
  }
}

TEST_P(CountTest, OneRankSendsNothing) {
  EXPECT_EQ(measure({"", "chain", 1}), Counts());
  for (const char *strategy : {"hidden", "sequence"})
    for (const auto &[op, count] : measure({strategy, "chain", 1}))
      EXPECT_EQ(count.second, std::vector<int64_t>{0}) << strategy << " " << op;
}

INSTANTIATE_TEST_SUITE_P(All, CountTest,
                         testing::Values(Case{1, 1, "f32"}, Case{2, 2, "f32"},
                                         Case{1, 8, "f64"}, Case{2, 1, "f64"}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return "Batch" +
                                  std::to_string(std::get<0>(info.param)) +
                                  "Groups" +
                                  std::to_string(std::get<1>(info.param)) +
                                  std::get<2>(info.param);
                         });

} // namespace
