//===- RandomInputs.cpp - What drawn models run on ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"

#include "cp/Model/Random.h"

#include <algorithm>
#include <cmath>

namespace cp::test {

namespace {

/// Of a weight, by the kind in its name.
double drawValue(llvm::StringRef name, Decay decay, double u, size_t i) {
  double around = 2 * u - 1;
  bool isSlow = decay == Decay::Slow, hasResets = decay == Decay::Resets;
  if (name.starts_with("A_log"))
    return isSlow && i % 2 == 0 ? std::log(0.003 + 0.003 * u)
           : hasResets          ? std::log(1000 + 1000 * u)
                                : around;
  if (name.starts_with("dt_bias"))
    return hasResets ? -9 - u : isSlow ? -u : around;
  if (name.starts_with("steps"))
    return (hasResets ? 4 : 0.7) * around;
  if (name.starts_with("norm"))
    return 0.5 + 0.5 * u;
  return name.starts_with("matrix") ? 0.7 * around : around;
}

/// Documents of each row: anywhere, some of them empty, and often at or beside
/// what cuts over 2, 4 and 8 ranks are.
HostTensor drawDocuments(const TensorSpec &spec, uint64_t key) {
  int64_t length = spec.init->count;
  HostTensor tensor = HostTensor::zeros(DType::I32, spec.shape);
  auto *next = reinterpret_cast<int32_t *>(tensor.bytes.data());
  Dice dice(key);
  for (int64_t row = 0; row < spec.shape[0]; ++row) {
    std::vector<int32_t> ends = {0, int32_t(length)};
    while (int64_t(ends.size()) < spec.shape[1]) {
      int64_t end = dice.between(0, length);
      if (dice.chance(0.5))
        end = dice.between(1, 7) * length / 8 + dice.between(-1, 1);
      ends.push_back(int32_t(std::clamp<int64_t>(end, 0, length)));
    }
    std::sort(ends.begin(), ends.end());
    next = std::copy(ends.begin(), ends.end(), next);
  }
  return tensor;
}

} // namespace

std::vector<HostTensor> drawInputs(llvm::ArrayRef<TensorSpec> specs,
                                   Decay decay, uint64_t seed) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : specs) {
    uint64_t key = seed ^ fnv1a64(spec.name) ^ 1;
    if (spec.dtype == DType::I32) {
      tensors.push_back(drawDocuments(spec, key));
      continue;
    }
    std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = drawValue(spec.name, decay, uniform01(key, i), i);
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

} // namespace cp::test
