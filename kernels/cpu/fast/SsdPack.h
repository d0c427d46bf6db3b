//===- fast/SsdPack.h - Operands of the chunked scan ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDPACK_H
#define CP_KERNELS_CPU_FAST_SSDPACK_H

#include "CeilDiv.h"
#include "fast/Pack.h"

#include <type_traits>

namespace cp::kernels::fast {

/// Tokens that are worked on together; a multiple of every vector's lanes.
constexpr int64_t tileTokens = 64;

/// Copies what products of the scan are formed of to arrays of `Factor`: that
/// is Acc, or Pair for two neighbours along the sum, of which the second is 0
/// beyond the end. A word is one Factor.
template <typename Isa, typename T, typename Factor> struct SsdPack {
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr bool isPaired = std::is_same_v<Factor, Pair>;
  static constexpr int64_t perWord = isPaired ? 2 : 1;

  /// Words that hold `count` elements along a sum.
  static constexpr int64_t words(int64_t count) {
    return ceilDiv(count, perWord);
  }

  /// Of the rows of one word, the first and, where there is one, the second.
  struct Rows {
    Type first, second;
  };
  static Rows rowsAt(Matrix<const T> from, int64_t word, int64_t count,
                     int64_t j, int64_t columns) {
    using Packer = Pack<Isa, T>;
    int64_t row = word * perWord;
    return {Packer::lanesAt(from, row, j, columns),
            isPaired && row + 1 < count
                ? Packer::lanesAt(from, row + 1, j, columns)
                : Type{}};
  }
  [[gnu::always_inline]] static void store(Factor *to, Rows rows) {
    if constexpr (isPaired)
      V::store(to, Isa::pair(rows.first, rows.second));
    else
      V::store(to, rows.first);
  }
  /// Rounds two vectors to results side by side; see Vec::put.
  template <bool Streamed>
  [[gnu::always_inline]] static void put(T *to, const Type (&sums)[2]) {
    if constexpr (isPaired) {
      auto both = Isa::narrow(sums[0], sums[1]);
      if constexpr (Streamed)
        Isa::stream(to, both);
      else
        __builtin_memcpy(to, &both, sizeof both);
    } else {
      V::template put<Streamed>(to, sums[0]);
      V::template put<Streamed>(to + V::lanes, sums[1]);
    }
  }
  /// A word with its first element alone.
  static Factor firstOf(Factor word) {
    if constexpr (isPaired)
      word.odd = BFloat16(0.0f);
    return word;
  }
  /// Row `row` of what was stored as words, `ld` apart.
  [[gnu::always_inline]] static Type load(const Factor *from, int64_t row,
                                          int64_t ld) {
    Type word = V::load(from + row / perWord * ld);
    if constexpr (isPaired)
      return row % 2 ? V::odd(word) : V::even(word);
    return word;
  }

  /// Words along the rows: to[w * ld + j], j < padded, a multiple of lanes.
  static void alongRows(Matrix<const T> from, int64_t rows, int64_t columns,
                        int64_t padded, Factor *to, int64_t ld) {
    for (int64_t word = 0; word < words(rows); ++word)
      for (int64_t j = 0; j < padded; j += V::lanes)
        store(to + word * ld + j, rowsAt(from, word, rows, j, columns));
  }

  /// The same for one word of `count` rows, each times its factor (0 beyond
  /// them), and to `plain` as they are, unless that is null.
  static void scaledRows(Matrix<const T> from, int64_t word, int64_t count,
                         int64_t columns, int64_t padded, const Acc *factors,
                         Factor *plain, Factor *scaled) {
    Acc first = factors[word * perWord];
    Acc second = factors[word * perWord + perWord - 1];
    auto put = [&](int64_t j, Rows rows) __attribute__((always_inline)) {
      if (plain)
        store(plain + j, rows);
      store(scaled + j, {rows.first * first, rows.second * second});
    };
    const T *row = from.data + word * perWord * from.rowStride;
    bool isWhole = (word + 1) * perWord <= count && columns == padded;
    if (isWhole && from.columnStride == 1)
      for (int64_t j = 0; j < padded; j += V::lanes)
        put(j, {V::load(row + j),
                V::load(row + (perWord - 1) * from.rowStride + j)});
    else
      for (int64_t j = 0; j < padded; j += V::lanes)
        put(j, rowsAt(from, word, count, j, columns));
  }

  /// Words along the columns, transposed: to[w * tileTokens + i], with zeros
  /// for rows <= i < tileTokens.
  static void alongColumns(Matrix<const T> from, int64_t rows, int64_t columns,
                           Factor *to) {
    if constexpr (!isPaired) {
      Pack<Isa, T>::transposed(from, rows, columns, tileTokens, to, tileTokens);
    } else if (from.columnStride == 1 && from.rowStride % 2 == 0 &&
               columns % 2 == 0) {
      // Pairs already lie side by side.
      Pack<Isa, Pair, Pair>::transposed(
          {reinterpret_cast<const Pair *>(from.data), from.rowStride / 2, 1},
          rows, columns / 2, tileTokens, to, tileTokens);
    } else {
      for (int64_t word = 0; word < words(columns); ++word)
        for (int64_t i = 0; i < tileTokens; ++i)
          to[word * tileTokens + i] = pairAt(from, rows, columns, i, word);
    }
  }

private:
  static Pair pairAt(Matrix<const T> from, int64_t rows, int64_t columns,
                     int64_t i, int64_t word) {
    Pair pair(0);
    if (i >= rows)
      return pair;
    const T *at = from.data + i * from.rowStride;
    pair.even = at[2 * word * from.columnStride];
    if (2 * word + 1 < columns)
      pair.odd = at[(2 * word + 1) * from.columnStride];
    return pair;
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDPACK_H
