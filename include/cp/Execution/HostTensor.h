//===- HostTensor.h - Whole tensors and their parts -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_HOSTTENSOR_H
#define CP_EXECUTION_HOSTTENSOR_H

#include "cp/Files/Bytes.h"
#include "cp/Files/DType.h"
#include "cp/Files/TensorView.h"
#include "cp/Layout/Layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace cp {

/// A tensor in host memory, C order, that owns its bytes.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  Bytes bytes;

  /// Of that shape, zero. Precondition: tensorBytes(shape, dtype) exists.
  static HostTensor zeros(DType dtype, std::vector<int64_t> shape);
  /// One number without dimensions: F64, or I64.
  static HostTensor scalar(double value);
  static HostTensor scalar(int64_t value);
  int64_t numElements() const;
  /// The elements as doubles; integers are converted. F32, F64, BF16, I32,
  /// I64; empty for other types.
  std::vector<double> asDoubles() const;
};

/// The part of `whole` that `layout` gives `rank`. Precondition: the layout
/// passes check(layout, whole.shape).
HostTensor partOf(const HostTensor &whole, const Layout &layout, int64_t rank);
/// The same of a tensor in other memory, of which no other bytes are read;
/// `release` is called whenever some MiB have been, which are read no more.
HostTensor partOf(const TensorView &whole, const Layout &layout, int64_t rank,
                  llvm::function_ref<void()> release = nullptr);

/// Writes a rank's part into its place in `whole`.
void putPart(const HostTensor &part, const Layout &layout, int64_t rank,
             HostTensor &whole);

/// What cp.repeat makes of a tensor: along `dim` each run of `unit` elements
/// `times` times. Precondition: unit divides the dimension's size.
HostTensor repeated(const HostTensor &tensor, int64_t dim, int64_t unit,
                    int64_t times);

/// How far an element is from what was expected: |got - expected|. Values that
/// are not finite agree with their like only:
///   got        expected   distance
///   3          1          2
///   infinity   infinity   0
///   infinity   1          infinity
///   infinity   -infinity  infinity
///   NaN        NaN        0
///   NaN        1          NaN
double distanceOf(double got, double expected);

/// How far two tensors are apart, by the distances of their elements.
struct Difference {
  double maxAbs = 0;
  /// ||a - b|| / ||b||, and ||a - b|| when b is zero. The norm of b is that of
  /// its finite elements.
  double relL2 = 0;
  bool bitwiseEqual = false;
};
/// Infinitely far when the shapes differ, or when elements cannot be told as
/// numbers (see asDoubles) and the bytes differ. The element types may differ.
Difference compare(const HostTensor &a, const HostTensor &b);

/// The worse one in each respect; NaN is worse than any number.
Difference worseOf(const Difference &a, const Difference &b);

/// The elements of a tensor that are infinite or NaN.
struct NotFinite {
  int64_t count = 0;
  /// The index of the first one in C order; empty for a scalar, or if there is
  /// none.
  std::vector<int64_t> first;
};
/// Of F32, F64 and BF16; other types have none.
NotFinite findNotFinite(const HostTensor &tensor);

/// The index in C order of the element number `flat` of such a tensor.
std::vector<int64_t> unravel(int64_t flat, const std::vector<int64_t> &shape);

} // namespace cp

#endif // CP_EXECUTION_HOSTTENSOR_H
