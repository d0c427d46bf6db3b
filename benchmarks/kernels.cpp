//===- kernels.cpp - Speed of the CPU kernels -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// At the shapes of mamba2-130m: hidden size 768, 24 heads of 64, state 128, one
// group, 1024 tokens. One thread. GF/s counts what the mathematics asks for:
// two operations per multiply-add; for the scan those of its recurrence (4 h p
// n per token: state update and read-out), so that chunked forms compare with
// it. The scan also counts what its matrix products execute.
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"

#include <benchmark/benchmark.h>
#include <vector>

using namespace cp::bench;
using cp::kernels::KernelSet;

namespace {
constexpr int64_t hidden = 768, heads = 24, headSize = 64, stateSize = 128;
constexpr int64_t length = 1024, channels = 1792, chunk = 256;

/// The first two arguments of every benchmark: 0 fast, 1 reference; 0 f32, 1
/// bf16.
KernelSet setOf(const benchmark::State &state) {
  return state.range(0) ? KernelSet::Reference : KernelSet::Fast;
}
bool isNarrow(const benchmark::State &state) { return state.range(1); }

void loop(benchmark::State &state, const KernelCase &kernel) {
  for (auto _ : state) {
    if (const char *message = kernel.run(setOf(state)))
      return state.SkipWithError(message);
    benchmark::ClobberMemory();
  }
}

void count(benchmark::State &state, const char *name, double perIteration) {
  state.counters[name] = benchmark::Counter(
      perIteration, benchmark::Counter::kIsIterationInvariantRate,
      benchmark::Counter::kIs1000);
}

/// Rows, columns and depth after the set and the type; W is [n, k].
void matmul(benchmark::State &state) {
  int64_t m = state.range(2), n = state.range(3), k = state.range(4);
  loop(state, matmulCase(isNarrow(state), m, n, k));
  count(state, "flops", 2.0 * double(m) * double(n) * double(k));
}
BENCHMARK(matmul)
    ->ArgNames({"plain", "bf16", "m", "n", "k"})
    ->ArgsProduct({{0}, {0, 1}, {256, 512, 1024}, {1536, 3352}, {hidden}})
    ->ArgsProduct({{0}, {0, 1}, {length}, {hidden}, {2 * hidden}})
    ->ArgsProduct({{0}, {0, 1}, {1}, {3352}, {hidden}})
    ->ArgsProduct({{1}, {0, 1}, {256}, {3352}, {hidden}})
    ->Unit(benchmark::kMillisecond);

/// Tokens after the set and the type: few enough that all stays in the last
/// cache, or too many.
void tokensToo(benchmark::internal::Benchmark *benchmark) {
  benchmark->ArgNames({"plain", "bf16", "tokens"})
      ->ArgsProduct({{0, 1}, {0, 1}, {length}})
      ->ArgsProduct({{0}, {0, 1}, {16 * length}});
}

void conv1d(benchmark::State &state) {
  int64_t length = state.range(2);
  loop(state, conv1dCase(isNarrow(state), length, channels));
  count(state, "elements", double(length * channels));
}
BENCHMARK(conv1d)->Apply(tokensToo)->Unit(benchmark::kMillisecond);

void rmsNorm(benchmark::State &state) {
  int64_t length = state.range(2), width = heads * headSize;
  loop(state, rmsNormCase(isNarrow(state), length, width));
  count(state, "elements", double(length * width));
}
BENCHMARK(rmsNorm)->Apply(tokensToo)->Unit(benchmark::kMillisecond);

/// What the matrix products of the chunked form execute, for chunks of the fast
/// kernel's 64 tokens: C S and the state's update, 2 p n operations per token
/// and head each, and of a chunk's weights times x the lower triangle, with
/// blocks of 8 tokens on the diagonal whole. C B^T, shared by all heads, counts
/// once, as the same triangle.
double executedFlops(int64_t l, int64_t h) {
  constexpr double size = 64, block = 8;
  double seen = size * (size + block) / 2 / size;
  return 2.0 * double(l) *
         (double(h) * (2.0 * headSize * stateSize + seen * headSize) +
          seen * stateSize);
}

/// Tokens and heads after the set and the type.
void ssd(benchmark::State &state) {
  int64_t l = state.range(2), h = state.range(3);
  loop(state, ssdCase(isNarrow(state), {l, h}, chunk));
  count(state, "flops", 4.0 * double(l * h * headSize * stateSize));
  count(state, "executed", executedFlops(l, h));
  count(state, "tokens", double(l));
}
BENCHMARK(ssd)
    ->ArgNames({"plain", "bf16", "tokens", "heads"})
    ->ArgsProduct({{0}, {0, 1}, {length}, {heads}})
    ->ArgsProduct({{0}, {0, 1}, {2 * length}, {128}})
    ->ArgsProduct({{1}, {0, 1}, {length}, {heads}})
    ->Unit(benchmark::kMillisecond);

void ssdStates(benchmark::State &state) {
  int64_t size = state.range(2), chunks = (length + size - 1) / size;
  KernelCase kernel = ssdCase(isNarrow(state), {length, heads}, size);
  kernel.op = "ssd_states";
  kernel.ins.erase(kernel.ins.begin() + 4, kernel.ins.end());
  kernel.outs.clear();
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{1, heads},
                                     {1, heads, headSize, stateSize},
                                     {1, chunks, heads, headSize, stateSize},
                                     {1, length, heads}})
    kernel.outs.emplace_back(sizes, false);
  kernel.attrs = {size, kernel.attrs[1], 0};
  loop(state, kernel);
  count(state, "tokens", length);
}
BENCHMARK(ssdStates)
    ->ArgNames({"plain", "bf16", "chunk"})
    ->ArgsProduct({{0, 1}, {0, 1}, {64, chunk}})
    ->Unit(benchmark::kMillisecond);

void ssdScan(benchmark::State &state) {
  int64_t size = state.range(2), chunks = (length + size - 1) / size;
  KernelCase kernel = ssdCase(isNarrow(state), {length, heads}, size);
  kernel.op = "ssd_scan";
  // x, A_log, B, C and D remain.
  kernel.ins.erase(kernel.ins.begin() + 6, kernel.ins.end());
  kernel.ins.erase(kernel.ins.begin() + 1);
  std::vector<int64_t> states = {1, heads, headSize, stateSize};
  kernel.ins.emplace_back(
      std::vector<int64_t>{1, chunks, heads, headSize, stateSize}, false, -1,
      1);
  kernel.ins.emplace_back(std::vector<int64_t>{1, length, heads}, false, 0.01f,
                          0.1f);
  kernel.ins.emplace_back(std::vector<int64_t>{1, heads}, false, 0, 1);
  kernel.ins.emplace_back(states, false, -1, 1);
  kernel.outs[1] = Tensor(states, false);
  kernel.attrs = {size};
  loop(state, kernel);
  count(state, "tokens", length);
}
BENCHMARK(ssdScan)
    ->ArgNames({"plain", "bf16", "chunk"})
    ->ArgsProduct({{0, 1}, {0, 1}, {64, chunk}})
    ->Unit(benchmark::kMillisecond);

/// After the set and the type: tokens, whether the mask is causal, and how far
/// apart the tokens are, as in stripes of one. Counts what the mask leaves:
/// four operations per element of a head and pair of a query with a key it
/// sees.
void attention(benchmark::State &state) {
  AttentionShape shape = {state.range(2), 8, 2, 128, state.range(3) != 0,
                          state.range(4)};
  loop(state, attentionCase(isNarrow(state), shape));
  double l = double(shape.length),
         pairs = shape.isCausal ? l * (l + 1) / 2 : l * l;
  count(state, "flops", 4.0 * double(shape.size * shape.queryHeads) * pairs);
}
BENCHMARK(attention)
    ->ArgNames({"plain", "bf16", "tokens", "causal", "apart"})
    ->ArgsProduct({{0}, {0, 1}, {512, 2048}, {0, 1}, {1}})
    ->ArgsProduct({{0}, {0, 1}, {2048}, {1}, {4}})
    ->ArgsProduct({{1}, {0, 1}, {512}, {1}, {1}})
    ->Unit(benchmark::kMillisecond);
} // namespace

BENCHMARK_MAIN();
