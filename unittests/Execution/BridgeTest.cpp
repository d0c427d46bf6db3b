//===- BridgeTest.cpp - Parts of a model on meshes of their own -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Layout/Refinement.h"
#include "cp/Trace/TraceTokens.h"
#include "mlir/Pass/PassManager.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// How one part of the model is sharded: in the words of a mesh and a layout,
/// what cuts sequences, tokens and channels.
struct Part {
  std::string mesh, batch, tokens, channels;
};

/// A projection with its columns cut, whose partial sum crosses to a
/// convolution along the sequence; what that gives crosses back.
struct Bridge {
  /// Empty meshes: one rank's program, without layouts.
  Part first, second;
  int64_t batch = 8, tokens = 32, channels = 8;

  bool isCut() const { return !first.mesh.empty(); }

  std::string text() const {
    const std::string arrived = isCut() ? "%arrived" : "%sum",
                      back = isCut() ? "%back" : "%y";
    return types() + R"(
    #in = affine_map<(b, l, n, k) -> (b, l, k)>
    #weights = affine_map<(b, l, n, k) -> (n, k)>
    #out = affine_map<(b, l, n, k) -> (b, l, n)>
    func.func @main(%x: !x {cp.name = "x"}, %w: !w {cp.name = "w"},
        %f: !filter {cp.name = "filter"}) -> (!there, !rows))" +
           (isCut() ? R"( attributes {cp.view = "global"})" : "") + R"( {
      %zero = arith.constant 0.0 : f64
      %empty = tensor.empty() : !sum
      %start = linalg.fill ins(%zero : f64) outs(%empty : !sum) -> !sum
      %sum = linalg.contract indexing_maps = [#in, #weights, #out]
          ins(%x, %w : !x, !w) outs(%start : !sum) -> !sum
)" + cross("arrived", "sum", "sum", "there") +
           "%y = cp.conv1d " + arrived + R"( weight(%f) {silu = true}
          : (!there, !filter) -> !there
)" + cross("back", "y", "there", "rows") +
           "%z = math.tanh " + back + R"( : !rows
      return %y, %z : !there, !rows
    })";
  }

private:
  static std::string braced(const std::string &cuts) {
    return "{" + cuts + "}";
  }

  std::string types() const {
    std::string text;
    auto type = [&](const std::string &name, const std::string &sizes,
                    const Part &part, const std::string &dims,
                    const std::string &partial = "") {
      text += "!" + name + " = tensor<" + sizes + "xf64";
      if (isCut())
        text += ", #cp.layout<#cp.mesh<" + part.mesh + ">, [" + dims + "]" +
                (partial.empty() ? "" : ", partial = {" + partial + "}") + ">";
      text += ">\n";
    };
    std::string rows = braced(first.batch) + ", " + braced(first.tokens) + ", ";
    const std::string width = std::to_string(channels),
                      all = std::to_string(batch) + "x" +
                            std::to_string(tokens) + "x" + width;
    type("x", all, first, rows + braced(first.channels));
    type("w", width + "x" + width, first, "{}, " + braced(first.channels));
    type("sum", all, first, rows + "{}", first.channels);
    type("rows", all, first, rows + "{}");
    type("there", all, second,
         braced(second.batch) + ", " + braced(second.tokens) + ", " +
             braced(second.channels));
    type("filter", width + "x4", second, braced(second.channels) + ", {}");
    return text;
  }

  /// Brings %source to another type as %result; on one rank it has that type.
  std::string cross(const std::string &result, const std::string &source,
                    const std::string &from, const std::string &to) const {
    return isCut() ? "%" + result + " = cp.reshard %" + source + " : !" + from +
                         " to !" + to + "\n"
                   : "";
  }
};

const std::string dp = "\"dp\"", tp = "\"tp\"", none;
const std::string encoderMesh = R"("dp" = 2, "tp" = 4)",
                  modelMesh = R"("dp" = 4, "tp" = 2)";

std::vector<Bridge> bridges() {
  const Part encoder = {encoderMesh, dp, none, tp},
             model = {modelMesh, dp, none, tp};
  const std::string cp = "\"cp\"", zigzag = "\"cp\" zigzag",
                    striped = "\"cp\" striped";
  const std::string sequences = R"("dp" = 2, "cp" = 2, "tp" = 2)";
  return {
      // Fan-out, fan-in, the same under another name.
      {encoder, model},
      {model, encoder},
      {encoder,
       {R"("data" = 2, "tensor" = 4)", "\"data\"", none, "\"tensor\""}},
      // Other dimensions.
      {encoder, {R"("tp" = 8)", none, none, tp}},
      {{R"("dp" = 8)", dp, none, none}, {R"("tp" = 8)", none, none, tp}},
      // The sequence, on either side.
      {encoder, {R"("cp" = 8)", none, cp, none}},
      {{R"("dp" = 8)", dp, none, none}, {R"("cp" = 8)", none, zigzag, none}},
      {encoder, {sequences, dp, zigzag, tp}},
      {{sequences, dp, zigzag, tp}, model},
      {{sequences, dp, striped, tp}, encoder},
      {{R"("cp" = 4, "tp" = 2)", none, striped, tp}, {sequences, dp, cp, tp}},
      // Sizes that share a factor only.
      {{R"("dp" = 2, "tp" = 6)", dp, none, none},
       {R"("dp" = 4, "tp" = 3)", dp, none, none}},
      // Axes of one rank.
      {{R"("dp" = 1, "tp" = 4)", dp, none, tp},
       {R"("dp" = 4, "tp" = 1)", dp, none, tp}},
  };
}

std::string describe(const Bridge &bridge) {
  return bridge.first.mesh + " to " + bridge.second.mesh;
}

std::unique_ptr<Program> gradientsOf(const Bridge &bridge) {
  DifferentiateOptions options;
  options.cotangents = true;
  options.wrt = {"x", "w", "filter"};
  return cutAndDifferentiated(
      bridge.text(),
      [&](OpPassManager &manager) {
        if (bridge.isCut())
          buildPartitionPipeline(manager);
      },
      options);
}

void expectWhatOneRankGives(const Bridge &bridge) {
  std::unique_ptr<Program>
      whole =
          gradientsOf({{}, {}, bridge.batch, bridge.tokens, bridge.channels}),
      cut = gradientsOf(bridge);
  ASSERT_TRUE(whole && cut);
  std::vector<HostTensor> inputs = drawForGradients(whole->arguments());
  RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
  RunResult result = runOrFail(*cut, inputs, CPRT_KERNELS_FAST);
  // Two results and three gradients.
  ASSERT_EQ(result.outputs.size(), 5u);
  for (size_t i = 0; i < result.outputs.size(); ++i)
    EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2, 1e-12)
        << cut->results()[i].name;
}

void expectTokensInPlace(const Bridge &bridge) {
  OwningOpRef<ModuleOp> module = parse(bridge.text());
  ASSERT_TRUE(module);
  llvm::Expected<TokenTrace> trace = traceTokens(*module, CompileOptions());
  ASSERT_TRUE(bool(trace)) << llvm::toString(trace.takeError());
  EXPECT_TRUE(trace->complete);
  for (const TokenFinding &finding : trace->findings)
    ADD_FAILURE() << finding.where << ", rank " << finding.rank << ": "
                  << finding.what;
}

class BridgeTest : public testing::TestWithParam<Bridge> {};

TEST_P(BridgeTest, GivesWhatOneRankGives) {
  expectWhatOneRankGives(GetParam());
}

TEST_P(BridgeTest, PutsEveryTokenInItsPlace) {
  expectTokensInPlace(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Meshes, BridgeTest, testing::ValuesIn(bridges()));

//===----------------------------------------------------------------------===//
// All pairs of meshes
//===----------------------------------------------------------------------===//

/// A mesh of batches, sequences and channels, in whose axes there may be one
/// rank; how it cuts them, with the sequence in this order.
struct Arrangement {
  int64_t dp, cp, tp;
  Order order;

  std::vector<std::pair<std::string, int64_t>> axes() const {
    std::vector<std::pair<std::string, int64_t>> all;
    for (auto [name, size] : {std::pair("dp", dp), {"cp", cp}, {"tp", tp}})
      if (size > 1)
        all.emplace_back(name, size);
    return all;
  }

  Part part() const {
    Part result;
    for (auto [name, size] : axes()) {
      result.mesh += (result.mesh.empty() ? "\"" : ", \"") + name +
                     "\" = " + std::to_string(size);
      std::string &cut = name == "dp"   ? result.batch
                         : name == "cp" ? result.tokens
                                        : result.channels;
      cut = "\"" + name + "\"";
      if (name == "cp" && order == Order::Zigzag)
        cut += " zigzag";
    }
    return result;
  }

  /// Of the tensor that has crossed.
  Layout layout() const {
    Layout result;
    result.dims.resize(3);
    for (auto [name, size] : axes()) {
      int axis = int(result.mesh.axes.size());
      result.mesh.axes.push_back({name, size});
      size_t dim = name == "dp" ? 0 : name == "cp" ? 1 : 2;
      result.dims[dim].push_back({axis, dim == 1 ? order : Order::Contiguous});
    }
    return result;
  }
};

std::vector<Arrangement> arrangementsOf(int64_t ranks) {
  std::vector<Arrangement> all;
  for (int64_t dp = 1; dp <= ranks; ++dp)
    for (int64_t cp = 1; dp * cp <= ranks; ++cp)
      if (ranks % (dp * cp) == 0) {
        all.push_back({dp, cp, ranks / dp / cp, Order::Contiguous});
        if (cp > 1)
          all.push_back({dp, cp, ranks / dp / cp, Order::Zigzag});
      }
  return all;
}

/// Meshes whose strides do not divide, and zigzag over an axis of several
/// parts.
bool isRefused(const Arrangement &first, const Arrangement &second) {
  Layout from = first.layout(), to = second.layout();
  std::string error;
  std::optional<Refinement> both = refine({from.mesh, to.mesh}, error);
  return !both || !refine(*both, 0, from, error) ||
         !refine(*both, 1, to, error);
}

Bridge bridgeOf(int64_t ranks, const Arrangement &first,
                const Arrangement &second) {
  return {first.part(), second.part(), ranks, 2 * ranks, ranks};
}

/// Of up to 8 ranks all, and every so many executed too; of more some, drawn.
TEST(Bridges, EveryPairIsTracedAndEverySeventhExecuted) {
  std::mt19937_64 random(1);
  int64_t traced = 0, executed = 0, refused = 0;
  for (int64_t ranks = 2; ranks <= 32; ++ranks) {
    std::vector<Arrangement> all = arrangementsOf(ranks);
    for (size_t i = 0; i < all.size() * all.size(); ++i) {
      const Arrangement &first = all[i / all.size()],
                        &second = all[i % all.size()];
      if (isRefused(first, second)) {
        ++refused;
        continue;
      }
      if (ranks > 8 && random() % (all.size() * all.size()) >= 12)
        continue;
      Bridge bridge = bridgeOf(ranks, first, second);
      SCOPED_TRACE(describe(bridge));
      expectTokensInPlace(bridge);
      if (++traced % 7 == 0 && ranks <= 8) {
        expectWhatOneRankGives(bridge);
        ++executed;
      }
      if (testing::Test::HasFailure())
        return;
    }
  }
  EXPECT_GT(traced, 600);
  EXPECT_GT(executed, 60);
  EXPECT_GT(refused, 0);
}

//===----------------------------------------------------------------------===//
// Layouts of the options' mesh, of which another one splits the axes
//===----------------------------------------------------------------------===//

class SplitAxesTest : public testing::TestWithParam<GradientCase> {
protected:
  /// The gradients of a program with one more argument, first, on that mesh.
  static std::unique_ptr<Program> gradientsOn(const std::string &mesh,
                                              const Sharding &sharding) {
    std::string text = textOf(GetParam());
    const std::string start = "func.func @main(";
    text.insert(text.find(start) + start.size(),
                "%other: tensor<8xf64, #cp.layout<#cp.mesh<" + mesh +
                    ">, [{}]>> {cp.name = \"other\"}, ");
    return cutAndDifferentiated(text,
                                [&](OpPassManager &manager) {
                                  buildShardPipeline(manager, sharding,
                                                     /*expose=*/false);
                                },
                                {});
  }

  static std::vector<Sharding> shardings() {
    std::vector<Sharding> all;
    Sharding sharding;
    sharding.replicateUnused = true;
    sharding.mesh = Mesh{{{"cp", 4}}};
    for (CutStrategy mixer : {CutStrategy::Hidden, CutStrategy::Sequence})
      for (AttentionForm form : {AttentionForm::Ring, AttentionForm::Gather}) {
        sharding.mixer = mixer;
        sharding.attention =
            mixer == CutStrategy::Hidden ? AttentionForm::Ulysses : form;
        all.push_back(sharding);
      }
    sharding.mesh = Mesh{{{"ring", 2}, {"u", 4}}};
    sharding.sequence = {Cut{0}, Cut{1}};
    sharding.mixer = CutStrategy::TwoD;
    sharding.attention = AttentionForm::TwoD;
    all.push_back(sharding);
    sharding.mesh = Mesh{{{"dp", 2}, {"tp", 4}}};
    sharding.sequence = {Cut{0}};
    sharding.tensorParallel = {Cut{1}};
    sharding.mixer = CutStrategy::Sequence;
    sharding.attention = AttentionForm::Ring;
    all.push_back(sharding);
    return all;
  }
};

TEST_P(SplitAxesTest, GiveWhatOneRankGives) {
  std::unique_ptr<Program> whole = cutAndDifferentiated(
      textOf(GetParam()),
      [](OpPassManager &manager) { manager.addPass(createDecompose()); }, {});
  ASSERT_TRUE(whole);
  std::vector<HostTensor> inputs = drawForGradients(whole->arguments());
  RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
  inputs.insert(inputs.begin(),
                fromDoubles(DType::F64, {8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  for (const Sharding &sharding : shardings()) {
    SCOPED_TRACE(test::describe(sharding));
    bool isFour = sharding.mesh.numRanks() == 4;
    std::unique_ptr<Program> cut = gradientsOn(
        isFour ? R"("a" = 2, "b" = 2)" : R"("a" = 4, "b" = 2)", sharding);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->mesh().axes.size(), isFour ? 2u : 3u);
    RunResult result = runOrFail(*cut, inputs, CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < result.outputs.size(); ++i)
      EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2, 1e-11)
          << cut->results()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, SplitAxesTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

void PrintTo(const Bridge &bridge, std::ostream *os) {
  *os << describe(bridge);
}

} // namespace
