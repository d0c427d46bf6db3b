//===- fast/Product.h - Products of packed matrices -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_PRODUCT_H
#define CP_KERNELS_CPU_FAST_PRODUCT_H

#include "fast/Vec.h"

#include <type_traits>

namespace cp::kernels::fast {

/// C = factor * C + A B for a tile of registers, and for small matrices made of
/// such tiles. A is stored transposed: A(i, k) = a[k * lda + i]. B and C are
/// stored by rows. Each element of C sums over k = 0, 1, ... in chains of fused
/// multiply-adds, which it adds up one after the other, whatever the sizes: the
/// rounding of a sum grows with their length, `chain`. A and B are of T, or
/// of Pair: then k counts pairs.
template <typename Isa, typename T, typename Factor = T, int64_t chain = 32>
struct Product {
  using V = Vec<Isa, T>;
  static constexpr int64_t rows = Isa::rows;
  /// Columns of a tile; B and C must be padded to a multiple.
  static constexpr int64_t columns = 2 * V::lanes;

  struct Operands {
    const Factor *a;
    int64_t lda;
    const Factor *b;
    int64_t ldb;
    /// Row i starts at c + cRows[i].
    T *c;
    const int64_t *cRows;
    /// The factor of row i is factors[i * factorStep]. Null: 0, and C is not
    /// read.
    const T *factors = nullptr;
    int64_t factorStep = 0;

    /// The operands of the tile that starts at row i and column j.
    Operands at(int64_t i, int64_t j) const {
      return {a + i,
              lda,
              b + j,
              ldb,
              c + j,
              cRows + i,
              factors ? factors + i * factorStep : nullptr,
              factorStep};
    }
  };

  /// A whole tile that stays in registers.
  using Sums = typename V::Type[rows][2];
  /// What it is formed of, as in Operands.
  struct Factors {
    const Factor *a;
    int64_t lda;
    const Factor *b;
    int64_t ldb;

    Factors at(int64_t i, int64_t j) const { return {a + i, lda, b + j, ldb}; }
    Factors from(int64_t k) const {
      return {a + k * lda, lda, b + k * ldb, ldb};
    }
  };

  /// sums += A B, where the first chain goes on from `sums`.
  [[gnu::always_inline]] static void add(const Factors &op, int64_t k,
                                         Sums &sums) {
    extend<rows>(op, least(k, chain), sums);
    for (int64_t done = chain; done < k; done += chain) {
      Sums part = {};
      extend<rows>(op.from(done), least(k - done, chain), part);
#pragma GCC unroll 16
      for (int row = 0; row < rows; ++row)
        for (int i = 0; i < 2; ++i)
          sums[row][i] += part[row][i];
    }
  }

  /// A tile of `count` rows (at most `rows`) and `columns` columns.
  static void tile(const Operands &op, int64_t count, int64_t k) {
    tileOf<rows>(op, count, k);
  }

  /// `m` rows and `n` columns (a multiple of `columns`).
  static void matrix(const Operands &op, int64_t m, int64_t n, int64_t k) {
    for (int64_t j = 0; j < n; j += columns)
      for (int64_t i = 0; i < m; i += rows)
        tile(op.at(i, j), least(rows, m - i), k);
  }

private:
  [[gnu::always_inline]] static typename V::Type
  multiplyAdd(typename V::Type sum, const Factor &a, typename V::Type b) {
    if constexpr (std::is_same_v<Factor, T>)
      return sum + a * b;
    else
      return Isa::dot(sum, a, b);
  }

  template <int Count>
  static void tileOf(const Operands &op, int64_t count, int64_t k) {
    if constexpr (Count > 1)
      if (count < Count)
        return tileOf<Count - 1>(op, count, k);
    addChain<Count>(op, least(k, chain));
    if (k > chain)
      addChains<Count>(op, k);
  }

  /// What is left of k after the first chain.
  template <int Count> static void addChains(Operands op, int64_t k) {
    static constexpr T one = 1;
    op.factors = &one;
    op.factorStep = 0;
    for (int64_t done = chain; done < k; done += chain) {
      op.a += chain * op.lda;
      op.b += chain * op.ldb;
      addChain<Count>(op, least(k - done, chain));
    }
  }

  template <int Count>
  [[gnu::always_inline]] static void addChain(const Operands &op, int64_t k) {
    typename V::Type sums[Count][2] = {};
    extend<Count>({op.a, op.lda, op.b, op.ldb}, k, sums);
#pragma GCC unroll 16
    for (int row = 0; row < Count; ++row)
      storeRow(op, row, sums[row]);
  }

  /// Goes on with the chains that end in `sums`.
  template <int Count>
  [[gnu::always_inline]] static void
  extend(Factors op, int64_t k, typename V::Type (&sums)[Count][2]) {
    const Factor *a = op.a, *b = op.b;
    for (int64_t i = 0; i < k; ++i, a += op.lda, b += op.ldb) {
      typename V::Type b0 = V::load(b), b1 = V::load(b + V::lanes);
#pragma GCC unroll 16
      for (int row = 0; row < Count; ++row) {
        sums[row][0] = multiplyAdd(sums[row][0], a[row], b0);
        sums[row][1] = multiplyAdd(sums[row][1], a[row], b1);
      }
    }
  }

  [[gnu::always_inline]] static void
  storeRow(const Operands &op, int row, const typename V::Type (&sums)[2]) {
    T *c = op.c + op.cRows[row];
    for (int i = 0; i < 2; ++i, c += V::lanes)
      V::store(c, op.factors
                      ? op.factors[row * op.factorStep] * V::load(c) + sums[i]
                      : sums[i]);
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_PRODUCT_H
