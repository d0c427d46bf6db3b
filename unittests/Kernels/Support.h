//===- Support.h - Tensors and calls for kernel tests -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_SUPPORT_H
#define CP_UNITTESTS_KERNELS_SUPPORT_H

#include "Elements.h"
#include "Kernels.h"
#include "Team.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace cp::kernels::test {

/// One full set of kernels under test: the plain ones, or those of one
/// instruction set that this processor has.
struct Implementation {
  const char *name;
  const KernelEntry *entries;
  size_t count;
  /// Whether products in bf16 round what is not bf16 yet: of scans states,
  /// weights and decayed inputs, of attention weights.
  bool roundsFactors = false;
  /// Whether an executor runs them, for which tests draw fewer cases.
  bool isExecuted = false;

  KernelFn find(const char *op, DType dtype) const;
};
Implementation plainImplementation();
/// The plain set first. Each program of tests says which others.
const std::vector<Implementation> &implementations();

/// Those of one operation and type among them; and, where only the table for
/// processors has it, the one there.
std::vector<KernelFn> kernelsOf(const char *op, DType dtype);

using Random = std::mt19937_64;
/// Uniform in [low, high], both included.
int64_t pick(Random &random, int64_t low, int64_t high);

/// How a test tensor lies in memory.
enum class Lay {
  /// Row major, without gaps.
  Dense,
  /// Innermost stride 1, gaps between rows.
  Gaps,
  /// Dimensions in a random order, innermost stride above 1.
  Scattered
};
Lay pickLay(Random &random);

/// A strided tensor whose unused places hold a value that must not be read (an
/// input's NaN spoils the result) nor written (see isIntact).
template <typename T> class Tensor {
public:
  Tensor() = default;
  Tensor(std::vector<int64_t> sizes, Lay lay, Random &random);

  Buffer buffer();
  int64_t count() const;
  /// By position in row-major order.
  T &operator[](int64_t position);
  /// By indices.
  template <typename... Index> T &operator()(Index... index) {
    const int64_t indices[] = {static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (size_t i = 0; i < sizeof...(Index); ++i)
      offset += indices[i] * strides[i];
    return storage[offset];
  }
  void fill(Random &random, double low, double high);
  /// Whether no place outside the tensor has been written.
  bool isIntact();

  std::vector<int64_t> sizes, strides;

private:
  int64_t offsetOf(int64_t position) const;
  static T unused();

  std::vector<T> storage;
};

/// The calling thread's number of threads, put back at the end.
class WithThreads {
public:
  explicit WithThreads(int64_t threads) { setNumThreads(threads); }
  ~WithThreads() { setNumThreads(1); }
};

/// The bits of a float attribute.
inline int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// An input that is left out.
inline constexpr Buffer absent = {nullptr, DType::Absent, 0, nullptr, nullptr};

/// Runs a kernel; "" or its message.
std::string run(KernelFn kernel, std::vector<Buffer> ins,
                std::vector<Buffer> outs, std::vector<int64_t> attrs);

/// A number and the sum of the magnitudes it was added up from, which bounds
/// what rounding may do to it.
struct Expected {
  double value = 0, magnitude = 0;
  void add(double term) {
    value += term;
    magnitude += std::fabs(term);
  }
};

/// Rounding allowed per unit of magnitude: that of the type that sums.
template <typename T> constexpr double tolerance() {
  return 400 * double(std::numeric_limits<AccumulatorOf<T>>::epsilon());
}
/// What one rounding to a narrower type may change, relative to the result:
/// half a unit in the last of bf16's eight bits.
template <typename T> constexpr double storageRounding() {
  return std::is_same_v<T, AccumulatorOf<T>> ? 0 : 1.0 / 256;
}

/// Sums in the accumulator's type, and one rounding at the end.
template <typename T> bool isClose(T got, const Expected &expected) {
  double error = std::fabs(double(got) - expected.value);
  return error <= tolerance<T>() * expected.magnitude +
                      storageRounding<T>() * std::fabs(expected.value) + 1e-30;
}

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_SUPPORT_H
