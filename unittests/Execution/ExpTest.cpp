//===- ExpTest.cpp - Exponentials in compiled kernels ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "TestModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// exp of each, as a compiled program computes it.
Values compiledExp(const Values &x) {
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  OwningOpRef<ModuleOp> module =
      parse("func.func @main(%x: " + type + ") -> " + type +
            " { %0 = math.exp %x : " + type + " return %0 : " + type + " }");
  std::unique_ptr<Program> program = test::compile(*module, {});
  if (!program)
    return {};
  RunResult result =
      runOrFail(*program, {floats({int64_t(x.size())}, x)}, CPRT_KERNELS_FAST);
  Values y(x.size());
  std::memcpy(y.data(), result.outputs.at(0).bytes.data(),
              y.size() * sizeof(float));
  return y;
}

TEST(ExpTest, IsRightWhereResultsAreNormal) {
  Values x;
  for (float value = -87.3f; value < 88.72f; value += 0.0137f)
    x.push_back(value);
  Values y = compiledExp(x);
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = std::exp(double(x[i]));
    // At the end of the range the polynomial leaves the one it is made for.
    double tolerance = std::ldexp(1.0, x[i] < 88.5f ? -22 : -21);
    EXPECT_NEAR(y[i] / expected, 1, tolerance) << x[i];
  }
}

TEST(ExpTest, EndsWhereNumbersEnd) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Values y = compiledExp({0, -infinity, -1000, infinity, 1000, NAN});
  ASSERT_EQ(y.size(), 6u);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], infinity);
  EXPECT_EQ(y[4], infinity);
  EXPECT_TRUE(std::isnan(y[5]));
}

} // namespace
