//===- BatchSupport.cpp - Batches for tests -------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchSupport.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>

using namespace cp::test;

BatchOf::BatchOf(int64_t ranks, cprt_batch_order order,
                 cprt_batch_format format) {
  options.struct_size = sizeof(options);
  options.ranks = ranks;
  options.order = order;
  options.format = format;
}

BatchOf &BatchOf::add(const std::string &name, cprt_dtype dtype,
                      const Longs &shape, int dim) {
  owned.push_back({name, {}, {}});
  cprt_batch_tensor tensor = {};
  tensor.name = owned.back().name.c_str();
  tensor.dtype = dtype;
  tensor.rank = int32_t(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  tensor.sequence_dim = dim;
  tensors.push_back(tensor);
  return *this;
}

BatchOf &BatchOf::with(const std::string &name, const Longs &shape,
                       const Longs &numbers, int dim) {
  add(name, CPRT_I64, shape, dim);
  owned.back().longs = numbers;
  tensors.back().data = owned.back().longs.data();
  return *this;
}

BatchOf &BatchOf::withFloats(const std::string &name, const Longs &shape,
                             const std::vector<float> &numbers, int dim) {
  add(name, CPRT_F32, shape, dim);
  owned.back().floats = numbers;
  tensors.back().data = owned.back().floats.data();
  return *this;
}

std::string BatchOf::create() {
  char message[512];
  cprt_batch *made = nullptr;
  cprt_status status =
      cprt_batch_create(&options, tensors.data(), tensors.size(), &made,
                        message, sizeof(message));
  batch.reset(made);
  EXPECT_EQ(status == CPRT_OK, made != nullptr);
  EXPECT_EQ(status == CPRT_OK, message[0] == '\0') << message;
  return message;
}

cprt_batch_info BatchOf::info() const {
  cprt_batch_info info;
  cprt_batch_describe(get(), &info);
  return info;
}

static size_t bytesOf(const cprt_batch_tensor &tensor) {
  size_t bytes = cprt_dtype_size(tensor.dtype);
  for (int i = 0; i < tensor.rank; ++i)
    bytes *= size_t(tensor.shape[i]);
  return bytes;
}

static Longs shapeOf(const cprt_batch_tensor &tensor) {
  return {tensor.shape, tensor.shape + tensor.rank};
}

static Longs longsOf(const cprt_batch_tensor &tensor,
                     const std::vector<char> &bytes) {
  Longs numbers(bytes.size() / cprt_dtype_size(tensor.dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    int32_t narrow;
    if (tensor.dtype == CPRT_I64) {
      std::memcpy(&numbers[i], &bytes[8 * i], 8);
      continue;
    }
    EXPECT_EQ(tensor.dtype, CPRT_I32);
    std::memcpy(&narrow, &bytes[4 * i], 4);
    numbers[i] = narrow;
  }
  return numbers;
}

static std::vector<char> bytesOfPart(cprt_batch *batch, const std::string &name,
                                     int64_t rank, cprt_batch_tensor &part) {
  char message[512];
  cprt_status status = cprt_batch_get(batch, name.c_str(), rank, &part, nullptr,
                                      0, message, sizeof(message));
  EXPECT_EQ(status, CPRT_OK) << message;
  std::vector<char> bytes(bytesOf(part));
  status = cprt_batch_get(batch, name.c_str(), rank, nullptr, bytes.data(),
                          bytes.size(), message, sizeof(message));
  EXPECT_EQ(status, CPRT_OK) << message;
  return bytes;
}

Longs BatchOf::take(const std::string &name, int64_t rank, Longs *shape) const {
  cprt_batch_tensor part;
  std::vector<char> bytes = bytesOfPart(get(), name, rank, part);
  EXPECT_EQ(part.name, name);
  if (shape)
    *shape = shapeOf(part);
  return longsOf(part, bytes);
}

std::vector<float> BatchOf::takeFloats(const std::string &name, int64_t rank,
                                       Longs *shape) const {
  cprt_batch_tensor part;
  std::vector<char> bytes = bytesOfPart(get(), name, rank, part);
  EXPECT_EQ(part.dtype, CPRT_F32);
  if (shape)
    *shape = shapeOf(part);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Longs BatchOf::gather(const std::string &name, bool keepPadding,
                      Longs *shape) const {
  std::vector<std::vector<char>> memory(size_t(options.ranks));
  std::vector<cprt_batch_tensor> parts(size_t(options.ranks));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    memory[rank] = bytesOfPart(get(), name, int64_t(rank), parts[rank]);
    parts[rank].data = memory[rank].data();
  }
  char message[512];
  cprt_batch_tensor whole;
  cprt_status status = cprt_batch_gather(get(), parts.data(), keepPadding,
                                         &whole, nullptr, 0, message, 512);
  EXPECT_EQ(status, CPRT_OK) << message;
  std::vector<char> bytes(bytesOf(whole));
  status = cprt_batch_gather(get(), parts.data(), keepPadding, nullptr,
                             bytes.data(), bytes.size(), message, 512);
  EXPECT_EQ(status, CPRT_OK) << message;
  if (shape)
    *shape = shapeOf(whole);
  return longsOf(whole, bytes);
}
