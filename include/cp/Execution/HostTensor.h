//===- HostTensor.h - Whole tensors and their parts -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_HOSTTENSOR_H
#define CP_EXECUTION_HOSTTENSOR_H

#include "cp/Layout/Layout.h"
#include "cp/Model/DType.h"

#include <cstdint>
#include <vector>

namespace cp {

/// A tensor in host memory, C order, that owns its bytes.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  /// Of that shape, zero. Precondition: tensorBytes(shape, dtype) exists.
  static HostTensor zeros(DType dtype, std::vector<int64_t> shape);
  int64_t numElements() const;
  /// The elements as doubles; integers are converted. F32, F64, BF16, I32,
  /// I64; empty for other types.
  std::vector<double> asDoubles() const;
};

/// The part of `whole` that `layout` gives `rank`. Precondition: the layout
/// passes check(layout, whole.shape).
HostTensor partOf(const HostTensor &whole, const Layout &layout, int64_t rank);

/// Writes a rank's part into its place in `whole`.
void putPart(const HostTensor &part, const Layout &layout, int64_t rank,
             HostTensor &whole);

/// What cp.repeat makes of a tensor: along `dim` each run of `unit` elements
/// `times` times. Precondition: unit divides the dimension's size.
HostTensor repeated(const HostTensor &tensor, int64_t dim, int64_t unit,
                    int64_t times);

/// How far two tensors of one shape are apart.
struct Difference {
  double maxAbs = 0;
  /// ||a - b|| / ||b||, and ||a - b|| when b is zero.
  double relL2 = 0;
  bool bitwiseEqual = false;
};
Difference compare(const HostTensor &a, const HostTensor &b);

/// The worse one in each respect; NaN is worse than any number.
Difference worseOf(const Difference &a, const Difference &b);

} // namespace cp

#endif // CP_EXECUTION_HOSTTENSOR_H
