//===- Draw.cpp - Seeded weights ------------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Model/Draw.h"

#include "cp/Files/DType.h"
#include "cp/Model/Random.h"

#include <cmath>

using namespace cp;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::StringRef;

uint64_t cp::fnv1a64(StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

uint64_t cp::splitMix64(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double cp::uniform01(uint64_t key, uint64_t index) {
  return double(splitMix64(key, index) >> 11) * 0x1p-53;
}

bool cp::drawsFractions(const InitSpec &init) {
  return init.kind < InitSpec::Kind::Ids;
}

/// Elements 2k and 2k+1 of the standard normal stream: the two of Box and
/// Muller (1958) from outputs 2k and 2k+1.
static std::pair<double, double> normalPair(uint64_t key, uint64_t k) {
  constexpr double twoPi = 6.283185307179586476925;
  // 1 - u is never 0, so the logarithm is finite.
  double radius = std::sqrt(-2 * std::log(1 - uniform01(key, 2 * k)));
  double angle = twoPi * uniform01(key, 2 * k + 1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Inverse of softplus: log(exp(dt) - 1) = dt + log(1 - exp(-dt)).
static double drawDtBias(const InitSpec &init, double u) {
  double low = std::log(init.low), high = std::log(init.high);
  double dt = std::max(std::exp(low + u * (high - low)), init.floor);
  return dt + std::log(-std::expm1(-dt));
}

/// Element `i` of every kind that draws fractions, but Normal.
static double drawOne(const InitSpec &init, uint64_t key, uint64_t i) {
  switch (init.kind) {
  case InitSpec::Kind::Ones:
    return 1;
  case InitSpec::Kind::Uniform:
    return init.scale * (2 * uniform01(key, i) - 1);
  case InitSpec::Kind::LogArange:
    return std::log(double(i + 1));
  case InitSpec::Kind::LogUniform:
    return std::log(init.low + uniform01(key, i) * (init.high - init.low));
  case InitSpec::Kind::DtBias:
    return drawDtBias(init, uniform01(key, i));
  case InitSpec::Kind::Zeros:
  case InitSpec::Kind::Normal:
  case InitSpec::Kind::Ids:
  case InitSpec::Kind::Documents:
  case InitSpec::Kind::Unknown:
    break;
  }
  return 0;
}

template <typename T>
static void drawNormals(double scale, uint64_t key, uint64_t first,
                        MutableArrayRef<T> out) {
  uint64_t end = first + out.size();
  for (uint64_t k = first / 2; 2 * k < end; ++k) {
    auto [even, odd] = normalPair(key, k);
    if (2 * k >= first)
      out[2 * k - first] = T(scale * even);
    if (2 * k + 1 < end)
      out[2 * k + 1 - first] = T(scale * odd);
  }
}

template <typename T>
static void drawSlice(const InitSpec &init, StringRef name, uint64_t seed,
                      uint64_t first, MutableArrayRef<T> out) {
  // The seed is mixed before the name joins it, so that seeds 0, 1, 2, ... give
  // streams that have nothing in common.
  uint64_t key = splitMix64(splitMix64(seed, 0) ^ fnv1a64(name), 0);
  if (init.kind == InitSpec::Kind::Normal)
    return drawNormals(init.scale, key, first, out);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = T(drawOne(init, key, first + i));
}

void cp::drawWeightSlice(const InitSpec &init, StringRef name, uint64_t seed,
                         uint64_t first, MutableArrayRef<double> out) {
  drawSlice(init, name, seed, first, out);
}

void cp::drawWeightSlice(const InitSpec &init, StringRef name, uint64_t seed,
                         uint64_t first, MutableArrayRef<float> out) {
  drawSlice(init, name, seed, first, out);
}

std::vector<double> cp::drawWeight(const InitSpec &init,
                                   ArrayRef<int64_t> shape, StringRef name,
                                   uint64_t seed) {
  size_t size = 1;
  for (int64_t extent : shape)
    size *= size_t(extent);
  std::vector<double> values(size);
  drawWeightSlice(init, name, seed, 0, MutableArrayRef<double>(values));
  return values;
}
