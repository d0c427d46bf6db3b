//===- NarrowTest.cpp - Rounding to bfloat16 in compiled loops ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Model/Random.h"
#include "llvm/ADT/APFloat.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr size_t count = 4096;

template <typename T>
HostTensor tensorOf(DType dtype, const std::vector<T> &v) {
  HostTensor tensor = HostTensor::zeros(dtype, {count});
  std::memcpy(tensor.bytes.data(), v.data(), tensor.bytes.size());
  return tensor;
}

/// What APFloat rounds to.
uint16_t rounded(llvm::APFloat value) {
  bool inexact;
  value.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

bool isNaN(uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

/// Whatever the processor has, and without a library that knows bfloat16.
TEST(NarrowTest, LoopsRoundToNearestEven) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf64>)
        -> (tensor<4096xbf16>, tensor<4096xbf16>) {
      %0 = arith.truncf %x : tensor<4096xf32> to tensor<4096xbf16>
      %1 = arith.truncf %y : tensor<4096xf64> to tensor<4096xbf16>
      return %0, %1 : tensor<4096xbf16>, tensor<4096xbf16>
    })");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  std::vector<float> x(count);
  std::vector<double> y(count);
  for (size_t i = 0; i < count; ++i) {
    // Half of them in the middle between two neighbours, or close by.
    uint64_t drawn = splitMix64(1, i);
    auto bits = static_cast<uint32_t>(drawn);
    if (i % 2)
      bits = (bits & 0xffff0000) + 0x8000 + static_cast<uint32_t>(i % 3) - 1;
    std::memcpy(&x[i], &bits, sizeof(bits));
    y[i] = static_cast<double>(x[i]);
    if (i % 5 == 1)
      y[i] *= 1 + 1e-15;
  }
  RunResult result =
      runOrFail(*program, {tensorOf(DType::F32, x), tensorOf(DType::F64, y)},
                CPRT_KERNELS_FAST);
  ASSERT_EQ(result.outputs.size(), 2u);
  for (size_t i = 0; i < count; ++i) {
    uint16_t got[2];
    for (size_t which : {0, 1})
      std::memcpy(&got[which], result.outputs[which].bytes.data() + i * 2, 2);
    uint16_t want[] = {rounded(llvm::APFloat(x[i])),
                       rounded(llvm::APFloat(y[i]))};
    for (size_t which : {0, 1}) {
      if (isNaN(want[which]))
        EXPECT_TRUE(isNaN(got[which])) << i;
      else
        EXPECT_EQ(got[which], want[which]) << i << " " << y[i];
    }
  }
}

} // namespace
