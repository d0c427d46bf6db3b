//===- Support.cpp - Tensors and calls for kernel tests -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <algorithm>
#include <numeric>

namespace cp::kernels::test {

KernelFn Implementation::find(const char *op, DType dtype) const {
  for (size_t i = 0; i < count; ++i)
    if (entries[i].dtype == dtype && std::strcmp(entries[i].op, op) == 0)
      return entries[i].fn;
  return nullptr;
}

std::vector<KernelFn> kernelsOf(const char *op, DType dtype) {
  std::vector<KernelFn> found = {findCpuKernel(op, dtype, KernelSet::Fast)};
  for (const Implementation &each : implementations())
    if (KernelFn kernel = each.find(op, dtype); kernel && kernel != found[0])
      found.push_back(kernel);
  return found;
}

static std::vector<KernelEntry> listPlain() {
  std::vector<KernelEntry> plain;
  size_t count;
  const KernelEntry *entries = cpuKernels(count);
  for (size_t i = 0; i < count; ++i)
    if (entries[i].set == KernelSet::Reference)
      plain.push_back(entries[i]);
  return plain;
}

Implementation plainImplementation() {
  static const std::vector<KernelEntry> plain = listPlain();
  return {"reference", plain.data(), plain.size()};
}

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Lay pickLay(Random &random) { return Lay(pick(random, 0, 2)); }

template <typename T>
Tensor<T>::Tensor(std::vector<int64_t> shape, Lay lay, Random &random)
    : sizes(std::move(shape)), strides(sizes.size()) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), size_t(0));
  if (lay == Lay::Scattered)
    std::shuffle(order.begin(), order.end(), random);
  int64_t stride = lay == Lay::Scattered ? pick(random, 2, 3) : 1;
  for (size_t dim : order) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
    if (lay != Lay::Dense)
      stride += pick(random, 1, 5);
  }
  // No slack behind the last element: an address sanitizer sees a read there.
  int64_t last = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    last += std::max<int64_t>(sizes[dim] - 1, 0) * strides[dim];
  storage.assign(static_cast<size_t>(count() ? last + 1 : 0), unused());
}

template <typename T> T Tensor<T>::unused() {
  if constexpr (std::is_same_v<T, BFloat16>)
    return T(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return std::numeric_limits<T>::min();
}

template <typename T> Buffer Tensor<T>::buffer() {
  DType dtype = DType::I32;
  if constexpr (std::is_floating_point_v<T>)
    dtype = Element<T>::dtype;
  else if (sizeof(T) == 8)
    dtype = DType::I64;
  else if (sizeof(T) == 2)
    dtype = DType::BF16;
  return {storage.data(), dtype, static_cast<int32_t>(sizes.size()),
          sizes.data(), strides.data()};
}

template <typename T> int64_t Tensor<T>::count() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

template <typename T> int64_t Tensor<T>::offsetOf(int64_t position) const {
  int64_t offset = 0;
  for (size_t dim = sizes.size(); dim-- > 0; position /= sizes[dim])
    offset += position % sizes[dim] * strides[dim];
  return offset;
}

template <typename T> T &Tensor<T>::operator[](int64_t position) {
  return storage[static_cast<size_t>(offsetOf(position))];
}

template <typename T>
void Tensor<T>::fill(Random &random, double low, double high) {
  std::uniform_real_distribution<double> draw(low, high);
  for (int64_t i = 0; i < count(); ++i)
    (*this)[i] = T(draw(random));
}

template <typename T> bool Tensor<T>::isIntact() {
  std::vector<T> rest = storage;
  for (int64_t i = 0; i < count(); ++i)
    rest[static_cast<size_t>(offsetOf(i))] = unused();
  T value = unused();
  return std::all_of(rest.begin(), rest.end(), [&](const T &place) {
    return std::memcmp(&place, &value, sizeof value) == 0;
  });
}

template class Tensor<float>;
template class Tensor<double>;
template class Tensor<BFloat16>;
template class Tensor<int16_t>;
template class Tensor<int32_t>;
template class Tensor<int64_t>;

std::string run(KernelFn kernel, std::vector<Buffer> ins,
                std::vector<Buffer> outs, std::vector<int64_t> attrs) {
  Call call = {ins.data(),  ins.size(),   outs.data(),
               outs.size(), attrs.data(), attrs.size()};
  const char *message = kernel(call);
  return message ? message : "";
}

} // namespace cp::kernels::test
