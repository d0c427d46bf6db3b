//===- DecisionsTest.cpp - What is said against what happens --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Decisions.h"
#include "Collectives.h"
#include "MixerText.h"
#include "TestModel.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Calls, and bytes that each rank sends, by op and axes.
using Counts = std::map<std::string, std::pair<int64_t, std::vector<int64_t>>>;

Counts countsOf(const RunResult &run) {
  Counts counts;
  for (const CollectiveCount &count : run.collectives) {
    std::string key = count.op;
    for (const std::string &axis : count.axes)
      key += " " + axis;
    counts[key] = {count.calls, count.bytesSentPerRank};
  }
  return counts;
}

std::string keyOf(const std::string &op, std::string axes) {
  for (char unwanted : {'"', ','})
    axes.erase(std::remove(axes.begin(), axes.end(), unwanted), axes.end());
  return op + " " + axes;
}

/// The remarks named "total", and the sum of the remarks on single ops.
struct Said {
  Counts totals, sums;
};

Said saidBy(llvm::ArrayRef<Decision> decisions, int64_t ranks) {
  Said said;
  for (const Decision &decision : decisions) {
    if (decision.category != "collective" || decision.name == "slice")
      continue;
    bool isTotal = decision.name == "total";
    auto &[calls, bytes] = (isTotal ? said.totals : said.sums)[keyOf(
        isTotal ? decision.text("op") : decision.name, decision.text("axes"))];
    calls += isTotal ? decision.number("calls") : 1;
    bytes.resize(ranks);
    std::vector<int64_t> more = decision.bytesByRank(ranks);
    for (int64_t rank = 0; rank < ranks; ++rank)
      bytes[rank] += more[rank];
  }
  return said;
}

std::unique_ptr<DecisionRecorder> record() {
  auto recorder = DecisionRecorder::attach(context());
  if (recorder)
    return std::move(*recorder);
  ADD_FAILURE() << llvm::toString(recorder.takeError());
  return nullptr;
}

TEST(DecisionsTest, RemarksOfEveryShardingSayWhatTheRuntimeCounts) {
  Mamba2Config config = smallConfig(2);
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {1, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  ASSERT_TRUE(module);
  int seen = 0;
  for (const TestSharding &sharding : allShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<DecisionRecorder> recorder = record();
    std::unique_ptr<Program> program = test::compile(*module, sharding);
    ASSERT_TRUE(program && recorder);
    Said said = saidBy(recorder->decisions(), sharding.ranks);
    std::vector<HostTensor> inputs =
        drawInputs(program->arguments(), config, Decay::AsPublished, 3);
    Counts counted = countsOf(runOrFail(*program, inputs, CPRT_KERNELS_FAST));
    EXPECT_EQ(said.totals, counted);
    EXPECT_EQ(said.sums, counted);
    seen += counted.size();
  }
  EXPECT_GT(seen, 20);
}

TEST(DecisionsTest, RemarksOfEveryCollectiveSayWhatTheRuntimeCounts) {
  for (const Collective &collective : collectives()) {
    SCOPED_TRACE(collective.name);
    OwningOpRef<ModuleOp> module = parse(collective.text);
    ASSERT_TRUE(module);
    std::unique_ptr<DecisionRecorder> recorder = record();
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program && recorder);
    Said said = saidBy(recorder->decisions(), 4);
    RunResult result = runOrFail(*program,
                                 {HostTensor::zeros(DType::F32, {8}),
                                  HostTensor::zeros(DType::F32, {8, 8})},
                                 CPRT_KERNELS_FAST);
    EXPECT_EQ(said.totals, countsOf(result));
    EXPECT_EQ(said.sums, said.totals);
  }
}

/// A group may be part of a mesh, or several of its axes.
TEST(DecisionsTest, GroupsOfSeveralAxesAreCountedByRank) {
  OwningOpRef<ModuleOp> module = parse(R"(
    #mesh = #cp.mesh<"a" = 2, "b" = 2>
    #cut = #cp.layout<#mesh, [{"a", "b"}, {}]>
    func.func @main(%x: tensor<2x8xf32> {cp.layout = #cut})
        -> (tensor<1x8xf32>, tensor<8x2xf32>, tensor<4x8xf32>)
        attributes {cp.view = "local"} {
      %0 = cp.halo %x over ["b"] of #mesh {dim = 0, before = 1}
          : (tensor<2x8xf32>) -> tensor<1x8xf32>
      %1 = cp.all_to_all %x over ["b", "a"] of #mesh
          {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
          : (tensor<2x8xf32>) -> tensor<8x2xf32>
      %2 = cp.all_gather %x over ["a"] of #mesh {dim = 0}
          : tensor<2x8xf32> -> tensor<4x8xf32>
      return %0, %1, %2 : tensor<1x8xf32>, tensor<8x2xf32>, tensor<4x8xf32>
    })");
  std::unique_ptr<DecisionRecorder> recorder = record();
  ASSERT_TRUE(module && recorder);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  RunResult result = runOrFail(
      *program, {HostTensor::zeros(DType::F32, {8, 8})}, CPRT_KERNELS_FAST);
  Counts counted = countsOf(result);
  EXPECT_EQ(counted["halo b"].second, (std::vector<int64_t>{32, 0, 32, 0}));
  Counts said;
  // The runtime names axes in the mesh's order.
  for (auto &[key, count] : saidBy(recorder->decisions(), 4).totals)
    said[key == "all_to_all b a" ? "all_to_all a b" : key] = count;
  EXPECT_EQ(said, counted);
}

/// A scan of six states a rank (three a part in zigzag order) over four ranks.
std::string unevenScan(const std::string &algorithm, bool zigzag) {
  const std::string order = zigzag ? " zigzag" : "";
  return R"(
      #mesh = #cp.mesh<"cp" = 4>
      #rows = #cp.layout<#mesh, [{"cp")" +
         order + R"(}]>
      #states = #cp.layout<#mesh, [{"cp")" +
         order + R"(}, {}]>
      func.func @main(%d: tensor<2xf32> {cp.layout = #rows},
                      %s: tensor<2x3xf32> {cp.layout = #states})
          -> (tensor<2x3xf32> {cp.layout = #states})
          attributes {cp.view = "local"} {
        %decay, %state = cp.scan_state %d, %s over ["cp")" +
         order + R"(] of #mesh
            {algorithm = #cp.scan_algorithm<)" +
         algorithm + R"(>}
            : tensor<2xf32>, tensor<2x3xf32>
        return %state : tensor<2x3xf32>
      })";
}

/// Ranks do not share the states evenly: some slices are longer.
TEST(DecisionsTest, ScansOfUnevenStatesAreCountedByRank) {
  for (std::string name :
       {"chain", "gather", "doubling", "pipelined", "transposed"})
    for (bool zigzag : {false, true}) {
      SCOPED_TRACE(name + (zigzag ? " zigzag" : ""));
      OwningOpRef<ModuleOp> module = parse(unevenScan(name, zigzag));
      std::unique_ptr<DecisionRecorder> recorder = record();
      ASSERT_TRUE(module && recorder);
      std::unique_ptr<Program> program = test::compile(*module, {});
      ASSERT_TRUE(program);
      RunResult result = runOrFail(*program,
                                   {HostTensor::zeros(DType::F32, {8}),
                                    HostTensor::zeros(DType::F32, {8, 3})},
                                   CPRT_KERNELS_FAST);
      EXPECT_EQ(saidBy(recorder->decisions(), 4).totals, countsOf(result));
    }
}

TEST(DecisionsTest, MixersInZigzagOrderAreCountedByRank) {
  for (int64_t heads : {1, 2})
    for (const char *scan :
         {"chain", "gather", "doubling", "pipelined", "transposed"}) {
      SCOPED_TRACE(std::string(scan) + ", " + std::to_string(heads));
      MixerText mixer{R"("ring" zigzag)", 3, 1, heads, scan};
      OwningOpRef<ModuleOp> module = parse(mixer.text());
      std::unique_ptr<DecisionRecorder> recorder = record();
      ASSERT_TRUE(module && recorder);
      std::unique_ptr<Program> program = test::compile(*module, {});
      ASSERT_TRUE(program);
      std::vector<HostTensor> inputs;
      for (const TensorSpec &spec : program->arguments())
        inputs.push_back(HostTensor::zeros(spec.dtype, spec.shape));
      Counts counted = countsOf(runOrFail(*program, inputs, CPRT_KERNELS_FAST));
      EXPECT_EQ(counted.count("halo ring"), 1u);
      EXPECT_EQ(counted.count("scan_state ring"), 1u);
      Said said = saidBy(recorder->decisions(), 3 * heads);
      EXPECT_EQ(said.totals, counted);
      EXPECT_EQ(said.sums, counted);
    }
}

/// Before exchanges are merged, reshards move the same bytes.
TEST(DecisionsTest, ReshardsAddUpToTheirCollectives) {
  Mamba2Config config = smallConfig(2);
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {1, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  std::unique_ptr<DecisionRecorder> recorder = record();
  ASSERT_TRUE(module && recorder &&
              test::compile(*module, {"hidden", "chain", 4}));
  int64_t reshards = 0, collectives = 0;
  for (const Decision &decision : recorder->decisions()) {
    if (decision.category == "reshard")
      reshards += decision.number("bytes");
    if (decision.name == "total")
      collectives += decision.number("bytes");
  }
  EXPECT_GT(reshards, 0);
  EXPECT_EQ(reshards, collectives);
}

TEST(DecisionsTest, LayersAreThoseOfTheParameters) {
  // Tied embeddings: the table is the head's too.
  Mamba2Config config = smallConfig(8);
  config.numLayers = 3;
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {1, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  std::unique_ptr<DecisionRecorder> recorder = record();
  ASSERT_TRUE(module && recorder &&
              test::compile(*module, {"hidden", "chain", 2}));
  std::vector<ExplainedLayers> layers = explainLayers(recorder->decisions(), 2);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].layers, (std::vector<std::string>{"0", "1", "2"}));
  ASSERT_GE(layers[0].moves.size(), 2u);
  EXPECT_EQ(layers[0].moves[0].op, "all_to_all");
  EXPECT_EQ(layers[0].moves[0].calls, 1);
  EXPECT_EQ(layers[0].moves[0].from, "[{}, {\"cp\"}, {}]");
  EXPECT_EQ(layers[0].moves[0].to, "[{}, {}, {\"cp\"}]");
}

TEST(DecisionsTest, LayersThatDifferStandApart) {
  auto move = [](const char *layer, const char *bytes) {
    return Decision{
        "collective", "halo", "main", {{"layer", layer}, {"bytes", bytes}}};
  };
  Decision refused{"cut", "refused", "main", {{"layer", "2"}}};
  auto layers =
      explainLayers({move("head", "8"), move("2", "8"), refused,
                     move("1", "16"), move("0", "8"), move("embedding", "8")},
                    2);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].layers,
            (std::vector<std::string>{"embedding", "0", "head"}));
  EXPECT_EQ(layers[1].layers, std::vector<std::string>{"1"});
  EXPECT_EQ(layers[1].moves[0].bytesByRank, (std::vector<int64_t>{16, 16}));
  EXPECT_EQ(layers[2].layers, std::vector<std::string>{"2"});
  EXPECT_EQ(layers[2].refusals.size(), 1u);
}

TEST(DecisionsTest, AContextIsRecordedOnce) {
  std::unique_ptr<DecisionRecorder> first = record();
  auto second = DecisionRecorder::attach(context());
  ASSERT_FALSE(second);
  EXPECT_EQ(llvm::toString(second.takeError()),
            "the context has a remark engine already; record in another "
            "context, or read that engine's remarks");
  first.reset();
  EXPECT_TRUE(record());
}

} // namespace
