//===- ErrorTest.h - Calls that kernels refuse ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_ERRORTEST_H
#define CP_UNITTESTS_KERNELS_ERRORTEST_H

#include "Support.h"

#include <gtest/gtest.h>
#include <memory>

namespace cp::kernels::test {

/// Dense f32 tensors named by their sizes, made as a test needs them.
class ErrorTest : public testing::Test {
protected:
  Buffer make(std::vector<int64_t> sizes) {
    tensors.push_back(
        std::make_unique<Tensor<float>>(sizes, Lay::Dense, random));
    return tensors.back()->buffer();
  }
  Buffer doubles(std::vector<int64_t> sizes) {
    others = Tensor<double>(sizes, Lay::Dense, random);
    return others.buffer();
  }
  Buffer indices(std::vector<int64_t> sizes, int32_t value) {
    ids = Tensor<int32_t>(sizes, Lay::Dense, random);
    for (int64_t i = 0; i < ids.count(); ++i)
      ids[i] = value;
    return ids.buffer();
  }
  Buffer words(std::vector<int64_t> sizes, int64_t value) {
    wide.push_back(
        std::make_unique<Tensor<int64_t>>(sizes, Lay::Dense, random));
    for (int64_t i = 0; i < wide.back()->count(); ++i)
      (*wide.back())[i] = value;
    return wide.back()->buffer();
  }
  /// No kernel reads the data before the types are known to fit.
  static Buffer narrow(Buffer buffer) {
    buffer.dtype = DType::BF16;
    return buffer;
  }
  /// Both sets must refuse, with a message that starts like this.
  void expectError(const char *op, std::vector<Buffer> ins,
                   std::vector<Buffer> outs, std::vector<int64_t> attrs,
                   const std::string &start, DType dtype = DType::F32) {
    for (KernelSet set : {KernelSet::Fast, KernelSet::Reference}) {
      std::string got = run(findCpuKernel(op, dtype, set), ins, outs, attrs);
      EXPECT_EQ(got.substr(0, start.size()), start);
    }
  }

  std::vector<Buffer> ssdIns(int64_t h = 4, int64_t g = 2) {
    return {make({1, 5, h, 3}), make({1, 5, h}), make({h}), make({1, 5, g, 2}),
            make({1, 5, g, 2})};
  }
  std::vector<Buffer> ssdOuts() {
    return {make({1, 5, 4, 3}), make({1, 4, 3, 2})};
  }
  std::vector<int64_t> ssdAttrs(int64_t chunk = 4, double high = 2,
                                double low = 0) {
    return {chunk, bitsOf(high), bitsOf(low)};
  }

  Random random{1};
  std::vector<std::unique_ptr<Tensor<float>>> tensors;
  Tensor<double> others;
  Tensor<int32_t> ids;
  std::vector<std::unique_ptr<Tensor<int64_t>>> wide;
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_ERRORTEST_H
