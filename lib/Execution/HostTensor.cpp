//===- HostTensor.cpp - Whole tensors and their parts -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/HostTensor.h"

#include "cp/Layout/Parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace cp {
namespace {

/// A bfloat16 as it is stored: the upper half of a float.
struct StoredBF16 {
  uint16_t bits;
  explicit operator double() const {
    uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

template <typename T>
void convertAll(const HostTensor &tensor, std::vector<double> &out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
}

} // namespace

HostTensor HostTensor::zeros(DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.bytes.resize(*tensorBytes(shape, dtype));
  tensor.shape = std::move(shape);
  return tensor;
}

template <typename T> static HostTensor scalarOf(DType dtype, T value) {
  HostTensor tensor = HostTensor::zeros(dtype, {});
  std::memcpy(tensor.bytes.data(), &value, sizeof(value));
  return tensor;
}
HostTensor HostTensor::scalar(double value) {
  return scalarOf(DType::F64, value);
}
HostTensor HostTensor::scalar(int64_t value) {
  return scalarOf(DType::I64, value);
}

int64_t HostTensor::numElements() const {
  return static_cast<int64_t>(bytes.size()) / dtypeBytes(dtype);
}

std::vector<double> HostTensor::asDoubles() const {
  std::vector<double> out(numElements());
  switch (dtype) {
  case DType::F32:
    convertAll<float>(*this, out);
    break;
  case DType::F64:
    convertAll<double>(*this, out);
    break;
  case DType::BF16:
    convertAll<StoredBF16>(*this, out);
    break;
  case DType::I32:
    convertAll<int32_t>(*this, out);
    break;
  case DType::I64:
    convertAll<int64_t>(*this, out);
    break;
  default:
    out.clear();
  }
  return out;
}

HostTensor partOf(const HostTensor &whole, const Layout &layout, int64_t rank) {
  return partOf(TensorView{"", whole.dtype, whole.shape, whole.bytes}, layout,
                rank);
}

HostTensor partOf(const TensorView &whole, const Layout &layout, int64_t rank,
                  llvm::function_ref<void()> release) {
  constexpr int64_t most = 8 << 20;
  HostTensor part =
      HostTensor::zeros(whole.dtype, localShape(layout, whole.shape));
  int64_t read = 0;
  PartWalker(layout, whole.shape, rank, dtypeBytes(whole.dtype))
      .walk([&](int64_t from, int64_t to, int64_t size) {
        for (int64_t done = 0; done < size;) {
          int64_t piece = std::min(size - done, most);
          std::memcpy(part.bytes.data() + to + done,
                      whole.bytes.data() + from + done, size_t(piece));
          done += piece;
          read += piece;
          if (read < most || !release)
            continue;
          release();
          read = 0;
        }
      });
  return part;
}

void putPart(const HostTensor &part, const Layout &layout, int64_t rank,
             HostTensor &whole) {
  PartWalker(layout, whole.shape, rank, dtypeBytes(whole.dtype))
      .walk([&](int64_t to, int64_t from, int64_t size) {
        std::memcpy(whole.bytes.data() + to, part.bytes.data() + from, size);
      });
}

HostTensor repeated(const HostTensor &tensor, int64_t dim, int64_t unit,
                    int64_t times) {
  std::vector<int64_t> shape = tensor.shape;
  shape[dim] *= times;
  HostTensor result = HostTensor::zeros(tensor.dtype, shape);
  int64_t piece = unit * dtypeBytes(tensor.dtype);
  for (size_t inner = dim + 1; inner < shape.size(); ++inner)
    piece *= shape[inner];
  auto *out = result.bytes.data();
  for (size_t at = 0; at < tensor.bytes.size(); at += piece)
    for (int64_t i = 0; i < times; ++i, out += piece)
      std::memcpy(out, tensor.bytes.data() + at, piece);
  return result;
}

/// The larger one; a NaN is larger than any number.
static double worseOf(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

Difference worseOf(const Difference &a, const Difference &b) {
  return {worseOf(a.maxAbs, b.maxAbs), worseOf(a.relL2, b.relL2),
          a.bitwiseEqual && b.bitwiseEqual};
}

double distanceOf(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected)))
    return 0;
  return std::fabs(got - expected);
}

static bool isInteger(DType dtype) {
  return dtype == DType::I32 || dtype == DType::I64;
}

/// The largest finite magnitude; 1 where there is none but zero. Squares of
/// what is divided by it neither overflow nor vanish.
static double scaleOf(const std::vector<double> &values) {
  double scale = 0;
  for (double value : values)
    if (std::isfinite(value))
      scale = std::max(scale, std::fabs(value));
  return scale > 0 ? scale : 1;
}

Difference compare(const HostTensor &a, const HostTensor &b) {
  std::vector<double> x = a.asDoubles(), y = b.asDoubles();
  Difference result;
  result.bitwiseEqual =
      a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
  if (result.bitwiseEqual)
    return result;
  if (a.shape != b.shape || x.size() != y.size() ||
      static_cast<int64_t>(x.size()) != a.numElements()) {
    result.relL2 = result.maxAbs = std::numeric_limits<double>::infinity();
    return result;
  }
  // Integers beyond 2^53 may be apart and equal as doubles.
  bool exact = a.dtype == b.dtype && isInteger(a.dtype);
  int64_t width = dtypeBytes(a.dtype);
  double scale = scaleOf(y), error = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double distance = distanceOf(x[i], y[i]);
    if (exact && distance == 0 &&
        std::memcmp(a.bytes.data() + i * width, b.bytes.data() + i * width,
                    width) != 0)
      distance = 1;
    result.maxAbs = worseOf(result.maxAbs, distance);
    error += distance / scale * (distance / scale);
    if (std::isfinite(y[i]))
      norm += y[i] / scale * (y[i] / scale);
  }
  result.relL2 = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return result;
}

template <typename T>
static void addNotFinite(const HostTensor &tensor, NotFinite &found) {
  for (int64_t i = 0, end = tensor.numElements(); i < end; ++i) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    if (!std::isfinite(static_cast<double>(value)) && found.count++ == 0)
      found.first = unravel(i, tensor.shape);
  }
}

NotFinite findNotFinite(const HostTensor &tensor) {
  NotFinite found;
  if (tensor.dtype == DType::F32)
    addNotFinite<float>(tensor, found);
  else if (tensor.dtype == DType::F64)
    addNotFinite<double>(tensor, found);
  else if (tensor.dtype == DType::BF16)
    addNotFinite<StoredBF16>(tensor, found);
  return found;
}

std::vector<int64_t> unravel(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; flat /= shape[dim])
    index[dim] = flat % shape[dim];
  return index;
}

} // namespace cp
