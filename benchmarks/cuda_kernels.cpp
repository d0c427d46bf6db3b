//===- cuda_kernels.cpp - Kernels of cards, timed on one ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a line of CSV for each kernel and shape: the median of the times
// between two events around a call, in microseconds, the bytes that a call must
// move at least, and the rate that this makes. The first rows are the card's
// own: a copy from device to device, counting what is read and what is written.
//
//   cp-bench-cuda [--rounds=N] [--rows=PREFIX]
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "CudaKernels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace cp::kernels;

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess)
    return;
  std::fprintf(stderr, "cp-bench-cuda: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Drawn numbers on the card, row major.
class DeviceTensor {
public:
  DeviceTensor(DType dtype, std::vector<int64_t> shape, double low, double high)
      : sizes(std::move(shape)), strides(sizes.size(), 1), dtype(dtype) {
    for (size_t i = sizes.size(); i-- > 1;)
      strides[i - 1] = strides[i] * sizes[i];
    count = sizes.empty() ? 1 : strides[0] * sizes[0];
    check(cudaMalloc(&data, size_t(count) * bytes()));
    // A block of numbers, over and over.
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> draw{float(low), float(high)};
    const int64_t period = std::min<int64_t>(count, (1 << 20) + 8);
    std::vector<char> block(size_t(period) * bytes());
    for (int64_t i = 0; i < period; ++i) {
      float value = draw(random);
      if (dtype == DType::BF16) {
        BFloat16 narrow(value);
        std::memcpy(&block[size_t(i) * 2], &narrow, 2);
      } else {
        std::memcpy(&block[size_t(i) * 4], &value, 4);
      }
    }
    for (int64_t at = 0; at < count; at += period)
      check(cudaMemcpy(static_cast<char *>(data) + size_t(at) * bytes(),
                       block.data(),
                       size_t(std::min(period, count - at)) * bytes(),
                       cudaMemcpyHostToDevice));
  }
  ~DeviceTensor() { (void)cudaFree(data); }
  DeviceTensor(const DeviceTensor &) = delete;
  DeviceTensor &operator=(const DeviceTensor &) = delete;

  Buffer buffer() const {
    return {data, dtype, int32_t(sizes.size()), sizes.data(), strides.data()};
  }
  size_t bytes() const { return dtype == DType::BF16 ? 2 : 4; }
  double totalBytes() const { return double(count) * double(bytes()); }

private:
  std::vector<int64_t> sizes, strides;
  DType dtype;
  int64_t count = 1;
  void *data = nullptr;
};

class Bench {
public:
  Bench(int rounds, std::string prefix)
      : rounds(rounds), prefix(std::move(prefix)) {
    check(cudaStreamCreate(&stream));
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    std::printf("row,tokens,us,GB/s,Mtokens/s\n");
  }

  bool wants(const std::string &row) const {
    return row.compare(0, prefix.size(), prefix) == 0;
  }

  void time(const std::string &row, int64_t tokens, double bytes,
            const std::function<const char *()> &call) {
    std::vector<float> times;
    for (int i = 0; i < rounds + 3; ++i) {
      check(cudaEventRecord(begin, stream));
      if (const char *message = call()) {
        std::fprintf(stderr, "cp-bench-cuda: %s: %s\n", row.c_str(), message);
        std::exit(1);
      }
      check(cudaEventRecord(end, stream));
      check(cudaEventSynchronize(end));
      float ms;
      check(cudaEventElapsedTime(&ms, begin, end));
      if (i >= 3)
        times.push_back(ms * 1000);
    }
    std::sort(times.begin(), times.end());
    double us = times[times.size() / 2];
    std::printf("%s,%lld,%.1f,%.0f,%.2f\n", row.c_str(), (long long)tokens, us,
                bytes / us / 1000, double(tokens) / us);
    std::fflush(stdout);
  }

  void run(const std::string &row, const char *op, int64_t tokens, double bytes,
           const std::vector<Buffer> &ins, const std::vector<Buffer> &outs,
           const std::vector<int64_t> &attrs) {
    Call call = {ins.data(),  ins.size(),   outs.data(),
                 outs.size(), attrs.data(), attrs.size()};
    cuda::KernelFn kernel = cuda::findKernel(op, DType::BF16);
    time(row, tokens, bytes, [&] { return kernel(call, stream); });
  }

  cudaStream_t stream;

private:
  int rounds;
  std::string prefix;
  cudaEvent_t begin, end;
};

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void copies(Bench &bench) {
  if (!bench.wants("copy"))
    return;
  const size_t bytes = size_t(2) << 30;
  void *from, *to;
  check(cudaMalloc(&from, bytes));
  check(cudaMalloc(&to, bytes));
  check(cudaMemset(from, 0x3c, bytes));
  bench.time("copy", 0, 2.0 * double(bytes), [&]() -> const char * {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                          bench.stream));
    return nullptr;
  });
  check(cudaFree(from));
  check(cudaFree(to));
}

void convolution(Bench &bench, int64_t l, int64_t c) {
  const std::string row = "conv1d-c" + std::to_string(c);
  if (!bench.wants(row))
    return;
  const DType type = DType::BF16;
  DeviceTensor x(type, {1, l, c}, -1, 1), weight(type, {c, 4}, -1, 1),
      bias(type, {c}, -1, 1), initial(type, {1, 3, c}, -1, 1),
      y(type, {1, l, c}, 0, 0);
  bench.run(row, "conv1d", l, x.totalBytes() + y.totalBytes(),
            {x.buffer(), weight.buffer(), bias.buffer(), initial.buffer()},
            {y.buffer()}, {1});
  DeviceTensor dy(type, {1, l, c}, -1, 1), dWeight(DType::F32, {c, 4}, 0, 0),
      dBias(DType::F32, {c}, 0, 0), dInitial(type, {1, 3, c}, 0, 0);
  bench.run(
      "conv1d_grad-c" + std::to_string(c), "conv1d_grad", l, 3 * x.totalBytes(),
      {x.buffer(), weight.buffer(), dy.buffer(), bias.buffer(),
       initial.buffer()},
      {y.buffer(), dWeight.buffer(), dBias.buffer(), dInitial.buffer()}, {1});
}

void norm(Bench &bench, int64_t l, int64_t c, int64_t groups) {
  const std::string row =
      "rms_norm-c" + std::to_string(c) + "-g" + std::to_string(groups);
  if (!bench.wants(row))
    return;
  const DType type = DType::BF16;
  DeviceTensor x(type, {1, l, c}, -1, 1), weight(type, {c}, -1, 1),
      gate(type, {1, l, c}, -1, 1), y(type, {1, l, c}, 0, 0);
  bench.run(row, "rms_norm", l, 3 * x.totalBytes(),
            {x.buffer(), weight.buffer(), gate.buffer()}, {y.buffer()},
            {bitsOf(1e-5), 1, groups});
  DeviceTensor dy(type, {1, l, c}, -1, 1), dWeight(DType::F32, {c}, 0, 0),
      dGate(type, {1, l, c}, 0, 0);
  bench.run("rms_norm_grad" + row.substr(row.find('-')), "rms_norm_grad", l,
            5 * x.totalBytes(),
            {x.buffer(), dy.buffer(), weight.buffer(), gate.buffer()},
            {y.buffer(), dWeight.buffer(), dGate.buffer()},
            {bitsOf(1e-5), 1, groups});
}

/// Else a row by warpgroups would be one by warps.
bool hasWarpgroups() {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  return major == 9 && minor == 0;
}

struct Model {
  const char *name;
  int64_t h, p, g, n, chunk;
};
const Model models[] = {{"granite-4.0-h-small", 128, 64, 1, 128, 256},
                        {"mamba2-2.7b", 80, 64, 1, 128, 256},
                        {"nemotron-h-8b", 128, 64, 8, 128, 128},
                        {"mamba2-130m", 24, 64, 1, 128, 256}};

void scan(Bench &bench, const Model &model, int64_t l) {
  const std::string row = std::string("ssd-") + model.name;
  if (!bench.wants(row))
    return;
  const DType type = DType::BF16;
  DeviceTensor x(type, {1, l, model.h, model.p}, -1, 1),
      dt(type, {1, l, model.h}, -4, 0), aLog(type, {model.h}, 0, 2.7),
      B(type, {1, l, model.g, model.n}, -1, 1),
      C(type, {1, l, model.g, model.n}, -1, 1), D(type, {model.h}, -1, 1),
      bias(type, {model.h}, -1, 1), y(type, {1, l, model.h, model.p}, 0, 0),
      state(type, {1, model.h, model.p, model.n}, 0, 0);
  double least = 2 * x.totalBytes() + 2 * B.totalBytes() + dt.totalBytes();
  // As cards without clusters run it, and by warpgroups, where there are such.
  for (auto [name, cluster, byWarpgroups] :
       {std::tuple("", 8, false), std::tuple("-alone", 1, false),
        std::tuple("-warpgroups", 8, true)}) {
    if (byWarpgroups && !hasWarpgroups())
      continue;
    cuda::limitClusters(cluster);
    cuda::multiplyByWarpgroups(byWarpgroups);
    bench.run(row + name, "ssd", l, least,
              {x.buffer(), dt.buffer(), aLog.buffer(), B.buffer(), C.buffer(),
               D.buffer(), bias.buffer()},
              {y.buffer(), state.buffer()},
              {model.chunk, bitsOf(INFINITY), bitsOf(0)});
  }
  cuda::limitClusters(8);
  cuda::multiplyByWarpgroups(false);
  const DType sums = DType::F32;
  DeviceTensor decay(sums, {1, model.h}, 1, 1),
      whole(sums, {1, model.h, model.p, model.n}, 0, 0),
      chunks(
          sums,
          {1, (l + model.chunk - 1) / model.chunk, model.h, model.p, model.n},
          0, 0),
      delta(sums, {1, l, model.h}, 0, 0);
  bench.run(row + "-states", "ssd_states", l,
            x.totalBytes() + B.totalBytes() + dt.totalBytes() +
                delta.totalBytes() + chunks.totalBytes(),
            {x.buffer(), dt.buffer(), aLog.buffer(), B.buffer(), bias.buffer()},
            {decay.buffer(), whole.buffer(), chunks.buffer(), delta.buffer()},
            {model.chunk, bitsOf(INFINITY), bitsOf(0)});
  bench.run(row + "-scan", "ssd_scan", l,
            least - dt.totalBytes() + delta.totalBytes() + chunks.totalBytes(),
            {x.buffer(), aLog.buffer(), B.buffer(), C.buffer(), D.buffer(),
             chunks.buffer(), delta.buffer(), decay.buffer(), whole.buffer()},
            {y.buffer(), whole.buffer()}, {model.chunk});
}

void scanGradient(Bench &bench, const Model &model, int64_t l) {
  const std::string row = std::string("ssd_grad-") + model.name;
  if (!bench.wants(row))
    return;
  const DType type = DType::BF16, sums = DType::F32;
  DeviceTensor x(type, {1, l, model.h, model.p}, -1, 1),
      dt(type, {1, l, model.h}, -4, 0), aLog(type, {model.h}, 0, 2.7),
      B(type, {1, l, model.g, model.n}, -1, 1),
      C(type, {1, l, model.g, model.n}, -1, 1), D(type, {model.h}, -1, 1),
      bias(type, {model.h}, -1, 1), dy(type, {1, l, model.h, model.p}, -1, 1),
      state(sums, {1, model.h, model.p, model.n}, -1, 1);
  DeviceTensor dx(type, {1, l, model.h, model.p}, 0, 0),
      ddt(type, {1, l, model.h}, 0, 0), dALog(sums, {model.h}, 0, 0),
      dB(type, {1, l, model.g, model.n}, 0, 0),
      dC(type, {1, l, model.g, model.n}, 0, 0),
      dD(sums, {model.h, model.p}, 0, 0), dBias(sums, {model.h}, 0, 0),
      dInitial(sums, {1, model.h, model.p, model.n}, 0, 0);
  for (bool byWarpgroups : {false, true}) {
    if (byWarpgroups && !hasWarpgroups())
      continue;
    cuda::multiplyByWarpgroups(byWarpgroups);
    bench.run(byWarpgroups ? row + "-warpgroups" : row, "ssd_grad", l,
              3 * x.totalBytes() + 4 * B.totalBytes() + 2 * dt.totalBytes(),
              {x.buffer(), dt.buffer(), aLog.buffer(), B.buffer(), C.buffer(),
               dy.buffer(), D.buffer(), bias.buffer(), state.buffer(),
               state.buffer()},
              {dx.buffer(), ddt.buffer(), dALog.buffer(), dB.buffer(),
               dC.buffer(), dD.buffer(), dBias.buffer(), dInitial.buffer()},
              {model.chunk, bitsOf(INFINITY), bitsOf(0)});
  }
  cuda::multiplyByWarpgroups(false);
}

struct Heads {
  const char *name;
  int64_t q, kv, d;
};
const Heads heads[] = {{"h32-kv8-d128", 32, 8, 128},
                       {"h16-kv16-d64", 16, 16, 64},
                       {"h32-kv32-d160", 32, 32, 160}};

/// Causal, forward and back; and a rank's part of a zigzag order over eight,
/// which has an eighth of the queries and of the pairs.
void attention(Bench &bench, const Heads &of, int64_t l, bool byWarpgroups) {
  const std::string name =
      of.name + std::string(byWarpgroups ? "-warpgroups" : "");
  const std::string row = "attention-" + name, back = "attention_grad-" + name;
  if (!bench.wants(row) && !bench.wants(back))
    return;
  cuda::multiplyByWarpgroups(byWarpgroups);
  const DType type = DType::BF16, sums = DType::F32;
  DeviceTensor q(type, {1, l, of.q, of.d}, -1, 1),
      k(type, {1, l, of.kv, of.d}, -1, 1), v(type, {1, l, of.kv, of.d}, -1, 1),
      o(type, {1, l, of.q, of.d}, -1, 1), lse(sums, {1, of.q, l}, 4, 4);
  const int64_t scale = bitsOf(1 / std::sqrt(double(of.d)));
  double least = 2 * q.totalBytes() + 2 * k.totalBytes();
  bench.run(row, "attention", l, least, {q.buffer(), k.buffer(), v.buffer()},
            {o.buffer(), lse.buffer()}, {1, scale, 0, 3, 0, l, 1, 3, 0, l, 1});
  DeviceTensor dq(type, {1, l, of.q, of.d}, 0, 0),
      dk(sums, {1, l, of.kv, of.d}, 0, 0), dv(sums, {1, l, of.kv, of.d}, 0, 0);
  bench.run(back, "attention_grad", l, 2 * least + dk.totalBytes(),
            {q.buffer(), k.buffer(), v.buffer(), o.buffer(), lse.buffer(),
             q.buffer()},
            {dq.buffer(), dk.buffer(), dv.buffer()}, {1, scale, 0});
  const int64_t part = l / 16;
  DeviceTensor some(type, {1, 2 * part, of.q, of.d}, -1, 1),
      result(type, {1, 2 * part, of.q, of.d}, 0, 0),
      itsLse(sums, {1, of.q, 2 * part}, 0, 0);
  bench.run(
      row + "-zigzag8", "attention", 2 * part,
      2 * some.totalBytes() + 2 * k.totalBytes(),
      {some.buffer(), k.buffer(), v.buffer()},
      {result.buffer(), itsLse.buffer()},
      {1, scale, 0, 6, 3 * part, part, 1, 12 * part, part, 1, 3, 0, l, 1});
  cuda::multiplyByWarpgroups(false);
}

} // namespace

int main(int argc, char **argv) {
  int rounds = 20;
  std::string prefix;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option.rfind("--rounds=", 0) == 0) {
      rounds = std::max(1, std::atoi(option.c_str() + 9));
    } else if (option.rfind("--rows=", 0) == 0) {
      prefix = option.substr(7);
    } else {
      std::fprintf(stderr,
                   "cp-bench-cuda: unknown option '%s'; say "
                   "[--rounds=N] [--rows=PREFIX]\n",
                   argv[i]);
      return 2;
    }
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  std::fprintf(stderr, "card: %s, %d multiprocessors\n", properties.name,
               properties.multiProcessorCount);
  Bench bench(rounds, prefix);
  copies(bench);
  convolution(bench, 65536, 8448);
  convolution(bench, 65536, 1792);
  norm(bench, 65536, 8192, 1);
  norm(bench, 65536, 8192, 8);
  norm(bench, 65536, 1536, 1);
  for (const Model &model : models)
    for (int64_t l : {65536, 16384, 4096, 1024})
      scan(bench, model, l);
  for (const Model &model : models)
    for (int64_t l : {16384, 4096})
      scanGradient(bench, model, l);
  for (const Heads &of : heads)
    for (int64_t l : {16384, 4096})
      for (bool byWarpgroups : {false, true})
        if (!byWarpgroups || (hasWarpgroups() && of.d <= 128))
          attention(bench, of, l, byWarpgroups);
  return 0;
}
