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

#include "Kernels.h"
#include "BFloat16.h"

#include <benchmark/benchmark.h>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace cp::kernels;

namespace {
constexpr int64_t hidden = 768, heads = 24, headSize = 64, stateSize = 128;
constexpr int64_t length = 1024, channels = 1792, window = 4, chunk = 256;

/// A dense tensor of random numbers, f32 until `narrow` makes it bf16.
struct Tensor {
  std::vector<int64_t> sizes, strides;
  std::vector<float> data;
  std::vector<BFloat16> narrowData;

  Tensor(std::vector<int64_t> shape, float low, float high)
      : sizes(std::move(shape)), strides(sizes.size()) {
    int64_t count = 1;
    for (size_t i = sizes.size(); i-- > 0; count *= sizes[i])
      strides[i] = count;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> draw(low, high);
    data.resize(static_cast<size_t>(count));
    for (float &value : data)
      value = draw(random);
  }
  void narrow() {
    for (float value : data)
      narrowData.push_back(BFloat16(value));
  }
  Buffer buffer() {
    bool isNarrow = !narrowData.empty();
    return {isNarrow ? static_cast<void *>(narrowData.data()) : data.data(),
            isNarrow ? DType::BF16 : DType::F32,
            static_cast<int32_t>(sizes.size()), sizes.data(), strides.data()};
  }
};

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The first two arguments of every benchmark: 0 fast, 1 reference; 0 f32, 1
/// bf16.
KernelSet setOf(const benchmark::State &state) {
  return state.range(0) ? KernelSet::Reference : KernelSet::Fast;
}
bool isNarrow(const benchmark::State &state) { return state.range(1); }

void narrow(std::vector<Tensor> &ins, std::vector<Tensor> &outs) {
  for (std::vector<Tensor> *tensors : {&ins, &outs})
    for (Tensor &tensor : *tensors)
      tensor.narrow();
}

void loop(benchmark::State &state, const char *op, std::vector<Tensor> &ins,
          std::vector<Tensor> &outs, std::vector<int64_t> attrs) {
  std::vector<Buffer> in, out;
  for (Tensor &tensor : ins)
    in.push_back(tensor.buffer());
  for (Tensor &tensor : outs)
    out.push_back(tensor.buffer());
  Call call = {in.data(),  in.size(),    out.data(),
               out.size(), attrs.data(), attrs.size()};
  KernelFn kernel = findCpuKernel(
      op, isNarrow(state) ? DType::BF16 : DType::F32, setOf(state));
  for (auto _ : state) {
    if (const char *message = kernel(call))
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
  std::vector<Tensor> ins = {{{m, k}, -1, 1}, {{n, k}, -1, 1}};
  std::vector<Tensor> outs = {{{m, n}, 0, 0}};
  if (isNarrow(state))
    narrow(ins, outs);
  loop(state, "matmul", ins, outs, {0, 1});
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
  std::vector<Tensor> ins = {{{1, length, channels}, -1, 1},
                             {{channels, window}, -1, 1},
                             {{channels}, -1, 1}};
  std::vector<Tensor> outs = {{{1, length, channels}, 0, 0}};
  if (isNarrow(state))
    narrow(ins, outs);
  loop(state, "conv1d", ins, outs, {1, 0, 1});
  count(state, "elements", double(length * channels));
}
BENCHMARK(conv1d)->Apply(tokensToo)->Unit(benchmark::kMillisecond);

void rmsNorm(benchmark::State &state) {
  int64_t length = state.range(2), width = heads * headSize;
  std::vector<Tensor> ins = {
      {{length, width}, -1, 1}, {{width}, -1, 1}, {{length, width}, -1, 1}};
  std::vector<Tensor> outs = {{{length, width}, 0, 0}};
  if (isNarrow(state))
    narrow(ins, outs);
  loop(state, "rms_norm", ins, outs, {bitsOf(1e-5), 1, 1, 1, 1});
  count(state, "elements", double(length * width));
}
BENCHMARK(rmsNorm)->Apply(tokensToo)->Unit(benchmark::kMillisecond);

const int64_t unlimited = bitsOf(std::numeric_limits<double>::infinity());

/// x, dt, A_log, B and, for the whole scan, C.
std::vector<Tensor> scanInputs(bool withC, int64_t l = length,
                               int64_t h = heads) {
  std::vector<Tensor> ins = {{{1, l, h, headSize}, -1, 1},
                             {{1, l, h}, -4, 1},
                             {{h}, 0, 2.7f},
                             {{1, l, 1, stateSize}, -1, 1}};
  if (withC)
    ins.push_back({{1, l, 1, stateSize}, -1, 1});
  return ins;
}

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
  std::vector<Tensor> ins = scanInputs(true, l, h);
  ins.push_back({{h}, -1, 1});
  ins.push_back({{h}, -1, 1});
  std::vector<Tensor> outs = {{{1, l, h, headSize}, 0, 0},
                              {{1, h, headSize, stateSize}, 0, 0}};
  if (isNarrow(state))
    narrow(ins, outs);
  loop(state, "ssd", ins, outs, {chunk, unlimited, 0, 1, 1, 0});
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
  std::vector<Tensor> ins = scanInputs(false);
  std::vector<Tensor> outs = {{{1, heads}, 0, 0},
                              {{1, heads, headSize, stateSize}, 0, 0},
                              {{1, chunks, heads, headSize, stateSize}, 0, 0},
                              {{1, length, heads}, 0, 0},
                              {{1, length, heads}, 0, 0}};
  if (isNarrow(state))
    for (Tensor &tensor : ins)
      tensor.narrow();
  loop(state, "ssd_states", ins, outs, {size, unlimited, 0, 0});
  count(state, "tokens", length);
}
BENCHMARK(ssdStates)
    ->ArgNames({"plain", "bf16", "chunk"})
    ->ArgsProduct({{0, 1}, {0, 1}, {64, chunk}})
    ->Unit(benchmark::kMillisecond);

void ssdScan(benchmark::State &state) {
  int64_t size = state.range(2), chunks = (length + size - 1) / size;
  std::vector<Tensor> ins = {{{1, length, heads, headSize}, -1, 1},
                             {{1, length, 1, stateSize}, -1, 1},
                             {{1, length, 1, stateSize}, -1, 1},
                             {{1, chunks, heads, headSize, stateSize}, -1, 1},
                             {{1, length, heads}, 0, 0},
                             {{1, length, heads}, 0.01f, 0.1f},
                             {{1, heads}, 0, 1},
                             {{1, heads, headSize, stateSize}, -1, 1}};
  // Falling within each chunk, as sums of log decays do.
  for (size_t i = 0; i < ins[4].data.size(); ++i)
    ins[4].data[i] = -0.1f * float(int64_t(i) / heads % size + 1);
  std::vector<Tensor> outs = {{{1, length, heads, headSize}, 0, 0},
                              {{1, heads, headSize, stateSize}, 0, 0}};
  if (isNarrow(state))
    for (Tensor *tensor : {&ins[0], &ins[1], &ins[2], &outs[0]})
      tensor->narrow();
  loop(state, "ssd_scan", ins, outs, {size, 0, 0});
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
  constexpr int64_t queryHeads = 8, keyHeads = 2, size = 128;
  int64_t l = state.range(2), causal = state.range(3), apart = state.range(4);
  std::vector<Tensor> ins = {{{1, l, queryHeads, size}, -1, 1},
                             {{1, l, keyHeads, size}, -1, 1},
                             {{1, l, keyHeads, size}, -1, 1}};
  std::vector<Tensor> outs = {{{1, l, queryHeads, size}, 0, 0},
                              {{1, queryHeads, l}, 0, 0}};
  if (isNarrow(state))
    for (Tensor *tensor : {&ins[0], &ins[1], &ins[2], &outs[0]})
      tensor->narrow();
  loop(state, "attention", ins, outs,
       {causal, bitsOf(0.088), 0, 3, 0, l, apart, 3, 0, l, apart});
  double pairs = causal ? double(l) * double(l + 1) / 2 : double(l) * double(l);
  count(state, "flops", 4.0 * size * queryHeads * pairs);
}
BENCHMARK(attention)
    ->ArgNames({"plain", "bf16", "tokens", "causal", "apart"})
    ->ArgsProduct({{0}, {0, 1}, {512, 2048}, {0, 1}, {1}})
    ->ArgsProduct({{0}, {0, 1}, {2048}, {1}, {4}})
    ->ArgsProduct({{1}, {0, 1}, {512}, {1}, {1}})
    ->Unit(benchmark::kMillisecond);
} // namespace

BENCHMARK_MAIN();
