//===- ElementwiseTest.cpp - Ops that LLVM has no instruction for ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

// Vectors, and a rest that is none.
constexpr int64_t length = 21;
using Floats = std::vector<float>;

/// Runs `body`, which makes %r of %x and %y, all tensors with these elements.
HostTensor run(const std::string &element, const std::string &body,
               const std::vector<HostTensor> &inputs) {
  std::string type = "tensor<" + std::to_string(length) + "x" + element + ">";
  std::string text = body;
  for (size_t at; (at = text.find('T')) != std::string::npos;)
    text.replace(at, 1, type);
  OwningOpRef<ModuleOp> module =
      parse("func.func @main(%x: " + type + ", %y: " + type + ") -> " + type +
            " {\n" + text + "\n  return %r : " + type + "\n}");
  std::unique_ptr<Program> program =
      module ? test::compile(*module, {}) : nullptr;
  if (!program)
    return {};
  RunResult result = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
  return result.outputs.empty() ? HostTensor() : result.outputs[0];
}

template <typename T> std::vector<T> elementsOf(const HostTensor &tensor) {
  std::vector<T> elements(tensor.bytes.size() / sizeof(T));
  if (!elements.empty())
    std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

/// From -2.5 to 2.5, with what is special at the end.
Floats someFloats() {
  Floats values;
  for (int64_t i = 0; i < length - 5; ++i)
    values.push_back(-2.5f + 0.33f * float(i));
  for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN})
    values.push_back(special);
  return values;
}

struct Case {
  const char *body;
  double (*expected)(double x);
};

bool isNormal(double x) { return std::fpclassify(float(x)) == FP_NORMAL; }

const Case cases[] = {
    {"%r = math.erf %x : T", std::erf},
    {"%r = math.erfc %x : T", std::erfc},
    {"%r = math.cbrt %x : T", std::cbrt},
    {"%r = math.asinh %x : T", std::asinh},
    {"%r = math.acosh %x : T", std::acosh},
    {"%r = math.atanh %x : T", std::atanh},
    {"%r, %c = math.sincos %x : T", std::sin},
    {"%s, %r = math.sincos %x : T", std::cos},
    {"%c = math.isinf %x : tensor<21xf32>\n"
     "%r = arith.uitofp %c : tensor<21xi1> to tensor<21xf32>",
     [](double x) { return double(std::isinf(x)); }},
    {"%c = math.isnormal %x : tensor<21xf32>\n"
     "%r = arith.uitofp %c : tensor<21xi1> to tensor<21xf32>",
     [](double x) { return double(isNormal(x)); }},
};

TEST(ElementwiseTest, FloatsAreThoseOfTheLibrary) {
  Floats values = someFloats();
  values[3] = std::numeric_limits<float>::denorm_min();
  for (const Case &tried : cases) {
    SCOPED_TRACE(tried.body);
    HostTensor x = floats({length}, values);
    std::vector<float> found =
        elementsOf<float>(run("f32", tried.body, {x, x}));
    ASSERT_EQ(found.size(), values.size());
    for (size_t i = 0; i < found.size(); ++i) {
      auto expected = float(tried.expected(values[i]));
      EXPECT_EQ(std::isnan(found[i]), std::isnan(expected)) << values[i];
      if (std::isfinite(expected)) {
        EXPECT_NEAR(found[i], expected, 4e-7 * (1 + std::abs(expected)))
            << values[i];
      } else if (!std::isnan(expected)) {
        EXPECT_EQ(found[i], expected) << values[i];
      }
    }
  }
}

/// bf16 of a number, to nearest even, by arithmetic in integers.
uint16_t rounded(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float widened(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(ElementwiseTest, BF16IsRoundedOnceAnOp) {
  const std::pair<const char *, float (*)(float, float)> ops[] = {
      {"%r = arith.addf %x, %y : T", [](float x, float y) { return x + y; }},
      {"%r = arith.mulf %x, %y : T", [](float x, float y) { return x * y; }},
      {"%r = arith.divf %x, %y : T", [](float x, float y) { return x / y; }},
      {"%r = math.fma %x, %y, %x : T",
       [](float x, float y) { return std::fma(x, y, x); }},
      {"%r = math.sqrt %x : T", [](float x, float) { return std::sqrt(x); }},
      {"%r = math.floor %x : T", [](float x, float) { return std::floor(x); }},
  };
  Floats values = someFloats();
  std::vector<double> xs(values.begin(), values.end()),
      ys(xs.rbegin(), xs.rend());
  HostTensor x = fromDoubles(DType::BF16, {length}, xs);
  HostTensor y = fromDoubles(DType::BF16, {length}, ys);
  std::vector<uint16_t> left = elementsOf<uint16_t>(x),
                        right = elementsOf<uint16_t>(y);
  for (auto [body, expected] : ops) {
    SCOPED_TRACE(body);
    std::vector<uint16_t> found =
        elementsOf<uint16_t>(run("bf16", body, {x, y}));
    ASSERT_EQ(found.size(), left.size());
    for (size_t i = 0; i < found.size(); ++i) {
      float sum = expected(widened(left[i]), widened(right[i]));
      if (std::isnan(sum))
        EXPECT_TRUE(std::isnan(widened(found[i])));
      else
        EXPECT_EQ(found[i], rounded(sum)) << sum;
    }
  }
}

TEST(ElementwiseTest, IntegersRoundAsTheirNamesSay) {
  const std::pair<const char *, int64_t (*)(int64_t, int64_t)> ops[] = {
      {"%r = arith.floordivsi %x, %y : T",
       [](int64_t x, int64_t y) {
         return int64_t(std::floor(double(x) / double(y)));
       }},
      {"%r = arith.ceildivsi %x, %y : T",
       [](int64_t x, int64_t y) {
         return int64_t(std::ceil(double(x) / double(y)));
       }},
      {"%r = math.ipowi %x, %y : T",
       [](int64_t x, int64_t y) {
         // As in integers: 1 / x is 0 for most.
         return int64_t(std::pow(double(x), double(y)));
       }},
      {"%r = arith.maxsi %x, %y : T",
       [](int64_t x, int64_t y) { return std::max(x, y); }},
  };
  HostTensor x = HostTensor::zeros(DType::I64, {length}), y = x;
  std::vector<int64_t> left, right;
  for (int64_t i = 0; i < length; ++i) {
    left.push_back(i < 10 ? i - 10 : i - 9);
    right.push_back(i % 3 ? 3 - i % 7 : 2);
    if (right.back() == 0)
      right.back() = 5;
  }
  std::memcpy(x.bytes.data(), left.data(), x.bytes.size());
  std::memcpy(y.bytes.data(), right.data(), y.bytes.size());
  for (auto [body, expected] : ops) {
    SCOPED_TRACE(body);
    std::vector<int64_t> found = elementsOf<int64_t>(run("i64", body, {x, y}));
    ASSERT_EQ(found.size(), left.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], expected(left[i], right[i]))
          << left[i] << " and " << right[i];
  }
}

} // namespace
