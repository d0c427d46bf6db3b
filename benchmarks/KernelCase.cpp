//===- KernelCase.cpp - A kernel's call at some shape ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"
#include "BFloat16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace cp::kernels;

namespace cp::bench {

Tensor::Tensor(std::vector<int64_t> shape, bool isNarrow, float low, float high)
    : sizes(std::move(shape)), strides(sizes.size()), isNarrow(isNarrow) {
  for (size_t i = sizes.size(); i-- > 0; count *= sizes[i])
    strides[i] = count;
  size_t bytes = size_t(count) * (isNarrow ? sizeof(BFloat16) : sizeof(float));
  data = allocate(bytes);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(low, high);
  for (int64_t i = 0; i < count; ++i)
    set(i, low < high ? draw(random) : low);
}

float Tensor::get(int64_t i) const {
  return isNarrow ? float(static_cast<const BFloat16 *>(data.get())[i])
                  : static_cast<const float *>(data.get())[i];
}

void Tensor::set(int64_t i, float value) {
  if (isNarrow)
    static_cast<BFloat16 *>(data.get())[i] = BFloat16(value);
  else
    static_cast<float *>(data.get())[i] = value;
}

Buffer Tensor::buffer() const {
  return {data.get(), isNarrow ? DType::BF16 : DType::F32,
          static_cast<int32_t>(sizes.size()), sizes.data(), strides.data()};
}

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

const char *KernelCase::run(KernelSet set) const {
  std::vector<Buffer> in, out;
  for (const Tensor &tensor : ins)
    in.push_back(tensor.buffer());
  if (!places.empty()) {
    in.resize(placesAt, {nullptr, DType::Absent, 0, nullptr, nullptr});
    in.push_back({const_cast<int64_t *>(places.data()), DType::I64,
                  static_cast<int32_t>(placesShape.size()), placesShape.data(),
                  placesStrides.data()});
  }
  for (const Tensor &tensor : outs)
    out.push_back(tensor.buffer());
  KernelFn kernel = findCpuKernel(op, in.front().dtype, set);
  if (!kernel)
    return "there is no such kernel";
  return kernel({in.data(), in.size(), out.data(), out.size(), attrs.data(),
                 attrs.size()});
}

namespace {

/// Lists of tensors, which cannot be copied out of braces.
template <typename... Ts> std::vector<Tensor> list(Ts &&...tensors) {
  std::vector<Tensor> result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

} // namespace

KernelCase matmulCase(bool narrow, int64_t m, int64_t n, int64_t k) {
  return {"matmul",
          list(Tensor({m, k}, narrow, -1, 1), Tensor({n, k}, narrow, -1, 1)),
          list(Tensor({m, n}, narrow)),
          {0, 1}};
}

KernelCase conv1dCase(bool narrow, int64_t length, int64_t channels) {
  constexpr int64_t window = 4;
  return {"conv1d",
          list(Tensor({1, length, channels}, narrow, -1, 1),
               Tensor({channels, window}, narrow, -1, 1),
               Tensor({channels}, narrow, -1, 1)),
          list(Tensor({1, length, channels}, narrow)),
          {1}};
}

KernelCase rmsNormCase(bool narrow, int64_t rows, int64_t width) {
  return {"rms_norm",
          list(Tensor({rows, width}, narrow, -1, 1),
               Tensor({width}, narrow, -1, 1),
               Tensor({rows, width}, narrow, -1, 1)),
          list(Tensor({rows, width}, narrow)),
          {bitsOf(1e-5), 1, 1}};
}

KernelCase withDocuments(KernelCase kernel, int64_t documents) {
  const std::vector<int64_t> &shape = kernel.ins.front().shape();
  int64_t length = shape[1], each = std::max<int64_t>(length / documents, 1);
  kernel.placesAt = kernel.op == std::string("conv1d") ? 4
                    : kernel.op == std::string("ssd")  ? 8
                                                       : 3;
  kernel.placesShape = {shape[0], length};
  kernel.placesStrides = {length, 1};
  for (int64_t i = 0; i < shape[0] * length; ++i)
    kernel.places.push_back(i % length % each);
  return kernel;
}

KernelCase ssdCase(bool narrow, SsdShape s, int64_t chunk) {
  int64_t unlimited = bitsOf(std::numeric_limits<double>::infinity());
  return {"ssd",
          list(Tensor({1, s.length, s.heads, s.headSize}, narrow, -1, 1),
               Tensor({1, s.length, s.heads}, narrow, -4, 1),
               Tensor({s.heads}, narrow, 0, 2.7f),
               Tensor({1, s.length, s.groups, s.stateSize}, narrow, -1, 1),
               Tensor({1, s.length, s.groups, s.stateSize}, narrow, -1, 1),
               Tensor({s.heads}, narrow, -1, 1),
               Tensor({s.heads}, narrow, -1, 1)),
          list(Tensor({1, s.length, s.heads, s.headSize}, narrow),
               Tensor({1, s.heads, s.headSize, s.stateSize}, narrow)),
          {chunk, unlimited, 0}};
}

KernelCase attentionCase(bool narrow, AttentionShape s) {
  double scale = 1 / std::sqrt(double(s.size));
  return {"attention",
          list(Tensor({s.batch, s.length, s.queryHeads, s.size}, narrow, -1, 1),
               Tensor({s.batch, s.length, s.keyHeads, s.size}, narrow, -1, 1),
               Tensor({s.batch, s.length, s.keyHeads, s.size}, narrow, -1, 1)),
          list(Tensor({s.batch, s.length, s.queryHeads, s.size}, narrow),
               Tensor({s.batch, s.queryHeads, s.length}, false)),
          {s.isCausal, bitsOf(scale), 0, 3, 0, s.length, s.apart, 3, 0,
           s.length, s.apart}};
}

} // namespace cp::bench
