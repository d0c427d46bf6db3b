//===- fast/Pack.h - Copies of matrices in the order a kernel reads them -*- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_PACK_H
#define CP_KERNELS_CPU_FAST_PACK_H

#include "fast/Vec.h"

namespace cp::kernels::fast {

/// A strided matrix: element (i, j) is data[i * rowStride + j * columnStride].
template <typename T> struct Matrix {
  T *data;
  int64_t rowStride, columnStride;
};

/// Copies matrices of T to dense ones of To, which sums are kept in unless told
/// otherwise. One of the two is the type of the registers on the way.
template <typename Isa, typename T, typename To = AccumulatorOf<T>>
struct Pack {
  using V = Vec<Isa, AccumulatorOf<T>>;
  static constexpr int lanes = V::lanes;

  /// to[i * ld + j] = from(i, j) for i < rows, j < columns, and 0 for
  /// columns <= j < padded.
  static void rows(Matrix<const T> from, int64_t rows, int64_t columns,
                   int64_t padded, To *to, int64_t ld) {
    // As tiles of products have them.
    if (from.columnStride == 1 && columns == padded && columns == lanes)
      return vectors<1>(from, rows, to, ld);
    if (from.columnStride == 1 && columns == padded && columns == 2 * lanes)
      return vectors<2>(from, rows, to, ld);
    for (int64_t i = 0; i < rows; ++i) {
      const T *source = from.data + i * from.rowStride;
      To *target = to + i * ld;
      copyRow(source, from.columnStride, columns, target);
      for (int64_t j = columns; j < padded; ++j)
        target[j] = To(0);
    }
  }

  /// to[j * ld + i] = from(i, j), with zeros for rows <= i < padded.
  static void transposed(Matrix<const T> from, int64_t rows, int64_t columns,
                         int64_t padded, To *to, int64_t ld) {
    if (from.columnStride != 1 || from.rowStride == 1)
      return Pack::rows({from.data, from.columnStride, from.rowStride}, columns,
                        rows, padded, to, ld);
    int64_t fullRows = rows / lanes * lanes;
    int64_t fullColumns = columns / lanes * lanes;
    for (int64_t i = 0; i < fullRows; i += lanes)
      for (int64_t j = 0; j < fullColumns; j += lanes)
        square(from.data + i * from.rowStride + j, from.rowStride,
               to + j * ld + i, ld);
    transposedEdge(from, 0, fullRows, fullColumns, columns, to, ld);
    transposedEdge(from, fullRows, rows, 0, columns, to, ld);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = rows; i < padded; ++i)
        to[j * ld + i] = To(0);
  }

  /// from(i, j...) as one vector, with zeros beyond `columns`.
  static typename V::Type lanesAt(Matrix<const T> from, int64_t i, int64_t j,
                                  int64_t columns) {
    const T *at = from.data + i * from.rowStride + j * from.columnStride;
    if (from.columnStride == 1)
      return j + V::lanes <= columns ? V::load(at)
             : j < columns           ? V::loadPart(at, columns - j)
                                     : typename V::Type{};
    typename V::Type value = {};
    for (int64_t lane = 0; lane < least(V::lanes, columns - j); ++lane)
      value[lane] = AccumulatorOf<T>(at[lane * from.columnStride]);
    return value;
  }

private:
  /// Rows of so many vectors.
  template <int Count>
  static void vectors(Matrix<const T> from, int64_t rows, To *to, int64_t ld) {
    for (int64_t i = 0; i < rows; ++i)
      for (int j = 0; j < Count * lanes; j += lanes)
        V::store(to + i * ld + j, V::load(from.data + i * from.rowStride + j));
  }

  static void copyRow(const T *from, int64_t stride, int64_t count, To *to) {
    if (stride == 1)
      for (int64_t j = 0; j < count; ++j)
        to[j] = To(from[j]);
    else
      for (int64_t j = 0; j < count; ++j)
        to[j] = To(from[j * stride]);
  }

  static void transposedEdge(Matrix<const T> from, int64_t rowBegin,
                             int64_t rowEnd, int64_t columnBegin,
                             int64_t columnEnd, To *to, int64_t ld) {
    for (int64_t i = rowBegin; i < rowEnd; ++i)
      for (int64_t j = columnBegin; j < columnEnd; ++j)
        to[j * ld + i] = To(from.data[i * from.rowStride + j]);
  }

  /// A square of lanes x lanes: interleaving register i with register
  /// i + lanes / 2, log2(lanes) times over, transposes it.
  static void square(const T *from, int64_t stride, To *to, int64_t ld) {
    typename V::Type even[lanes], odd[lanes];
    for (int i = 0; i < lanes; ++i)
      even[i] = V::load(from + i * stride);
    int step = 1;
    for (; step * 2 <= lanes; step *= 4) {
      interleaveAll(even, odd);
      if (step * 4 > lanes)
        break;
      interleaveAll(odd, even);
    }
    const auto &result = step * 2 <= lanes ? odd : even;
    for (int i = 0; i < lanes; ++i)
      V::store(to + i * ld, result[i]);
  }

  static void interleaveAll(const typename V::Type (&from)[lanes],
                            typename V::Type (&to)[lanes]) {
    for (int i = 0; i < lanes / 2; ++i) {
      to[2 * i] = V::template interleave<0>(from[i], from[i + lanes / 2]);
      to[2 * i + 1] = V::template interleave<1>(from[i], from[i + lanes / 2]);
    }
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_PACK_H
