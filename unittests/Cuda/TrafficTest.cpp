//===- TrafficTest.cpp - What kernels take from memory --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At the sizes of models, beside the least: every input once. Tensors of the
// host are in memory as a card's are, so this needs none.
//
//===----------------------------------------------------------------------===//

#include "Traffic.h"
#include "EmulatedKernels.h"
#include "Forms.h"
#include "OpCalls.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// Of a call, over the bytes of its inputs.
struct Ratios {
  double tensors, workspaces;
};

template <typename T> Ratios ratiosOf(KernelFn kernel, const OpCall &call) {
  Tensors<T> ins(call.ins, call.firstSumIn, 1);
  Tensors<T> outs(call.outs, call.firstSumOut, 2);
  cuda::exec::Traffic traffic;
  int64_t least = 0;
  std::vector<Buffer> buffers = ins.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t bytes = ins.count(i) * int64_t(elementBytes(buffers[i].dtype));
    traffic.add(buffers[i].data, size_t(bytes));
    least += bytes;
  }
  EXPECT_EQ(run(kernel, buffers, outs.buffers(), call.attrs), "");
  Ratios ratios = {double(traffic.ofTensors()) / double(least),
                   double(traffic.ofWorkspaces()) / double(least)};
  std::cout << call.op << ", " << 8 * sizeof(T) << " bits: " << ratios.tensors
            << " of its inputs, " << ratios.workspaces << " beside\n";
  // A function that nobody watches would read nothing.
  EXPECT_GE(ratios.tensors, 1);
  return ratios;
}

/// What does little but read and write.
template <typename T>
void expectLittleMore(KernelFn kernel, const OpCall &call) {
  Ratios ratios = ratiosOf<T>(kernel, call);
  EXPECT_LE(ratios.tensors + ratios.workspaces, 1.2);
}

TEST(TrafficTest, Conv1d) {
  const OpCall call = {"conv1d",
                       {{1, 1024, 1792}, {1792, 4}, {1792}, {1, 3, 1792}},
                       {{1, 1024, 1792}},
                       {1}};
  expectLittleMore<BFloat16>(OnHost<cuda::conv1d<BFloat16>>::run, call);
  expectLittleMore<float>(OnHost<cuda::conv1d<float>>::run, call);
}

TEST(TrafficTest, RmsNorm) {
  const OpCall call = {"rms_norm",
                       {{256, 1536}, {1536}, {256, 1536}},
                       {{256, 1536}},
                       {bitsOf(1e-5), 1, 1}};
  expectLittleMore<BFloat16>(OnHost<cuda::rmsNorm<BFloat16>>::run, call);
  expectLittleMore<float>(OnHost<cuda::rmsNorm<float>>::run, call);
}

/// Back, each input is read once too, and parts of sums over rows besides. In
/// f32, whose sums are of the same type.
TEST(TrafficTest, CotangentsOfConv1d) {
  const OpCall call = {
      "conv1d_grad",
      {{1, 1024, 1792}, {1792, 4}, {1, 1024, 1792}, {1792}, {1, 3, 1792}},
      {{1, 1024, 1792}, {1792, 4}, {1792}, {1, 3, 1792}},
      {1}};
  expectLittleMore<float>(OnHost<cuda::conv1dGrad<float>>::run, call);
}

TEST(TrafficTest, CotangentsOfRmsNorm) {
  OpCall call = {"rms_norm_grad",
                 {{1024, 1536}, {1024, 1536}, {1536}, {1024, 1536}},
                 {{1024, 1536}, {1536}, {1024, 1536}},
                 {bitsOf(1e-5), 1, 1}};
  expectLittleMore<float>(OnHost<cuda::rmsNormGrad<float>>::run, call);
}

/// 128 queries a block, which go through the tiles of keys that one of them
/// may see: of a window, and of one rank's two parts of a zigzag order.
TEST(TrafficTest, AttentionTakesTheKeysThatAreSeen) {
  const int64_t d = 64, tile = 64;
  struct Case {
    const char *name;
    int64_t queries, keys, window;
    std::vector<int64_t> qRuns;
    /// Of all blocks.
    int64_t tiles;
  };
  const Case cases[] = {
      {"causal",
       1024,
       1024,
       0,
       {0, 1024, 1},
       2 + 4 + 6 + 8 + 10 + 12 + 14 + 16},
      {"window", 1024, 1024, 64, {0, 1024, 1}, 2 + 7 * 3},
      {"zigzag", 256, 1024, 0, {128, 128, 1, 768, 128, 1}, 4 + 14},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.name);
    std::vector<int64_t> attrs = {1, bitsOf(0.1), each.window,
                                  int64_t(each.qRuns.size())};
    attrs.insert(attrs.end(), each.qRuns.begin(), each.qRuns.end());
    attrs.insert(attrs.end(), {3, 0, each.keys, 1});
    const OpCall call = {
        "attention",
        {{1, each.queries, 1, d}, {1, each.keys, 1, d}, {1, each.keys, 1, d}},
        {{1, each.queries, 1, d}, {1, 1, each.queries}},
        attrs,
        SIZE_MAX,
        1};
    Ratios ratios =
        ratiosOf<BFloat16>(OnHost<cuda::attention<BFloat16>>::run, call);
    double taken = double((each.queries + 2 * tile * each.tiles) * d);
    EXPECT_DOUBLE_EQ(ratios.tensors,
                     taken / double((each.queries + 2 * each.keys) * d));
  }
}

/// A block has one head, and takes B and C once for all of its cluster, or on
/// cards without clusters for itself: of 24 heads more than four times the
/// least then, which a card's second cache must make up for.
TEST(TrafficTest, SsdTakesBAndCForEachCluster) {
  const int64_t l = 256, heads = 24, inner = 64 * heads, states = 128;
  const OpCall call = {"ssd",
                       {{1, l, heads, 64},
                        {1, l, heads},
                        {heads},
                        {1, l, 1, states},
                        {1, l, 1, states},
                        {heads},
                        {heads}},
                       {{1, l, heads, 64}, {1, heads, 64, states}},
                       {64, bitsOf(INFINITY), 0}};
  double all = double(l * (inner + heads + 2 * states) + 3 * heads);
  for (auto [blocks, byWarpgroups] :
       {std::pair(1, false), std::pair(8, false), std::pair(8, true)}) {
    double times = double(heads) / blocks;
    double ofBlocks = all + (times - 1) * double(l * 2 * states);
    WithForm form(blocks, byWarpgroups);
    Ratios ratios = ratiosOf<BFloat16>(OnHost<cuda::ssd<BFloat16>>::run, call);
    EXPECT_LE(ratios.tensors, 1.02 * ofBlocks / all);
    EXPECT_LE(ratios.tensors, blocks == 1 ? 4.3 : 1.3);
    EXPECT_LE(ratios.workspaces, 0.1);
    EXPECT_EQ(form.hasStartedWarpgroups(), byWarpgroups);
  }
}

} // namespace
