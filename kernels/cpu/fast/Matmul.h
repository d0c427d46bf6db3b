//===- fast/Matmul.h - Fast matrix product ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The loop nest of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008), turned so that the panel of W stays in the first
// cache while a block of A streams from the second.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_MATMUL_H
#define CP_KERNELS_CPU_FAST_MATMUL_H

#include "Arguments.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "fast/Pack.h"
#include "fast/Product.h"

namespace cp::kernels::fast {

template <typename Isa, typename T> class Matmul {
public:
  static const char *run(const Call &call) {
    MatmulArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    Matmul matmul(args);
    if (!matmul.allocate())
      return outOfMemory("matmul");
    for (int64_t i = 0; i < args.m; i += blockRows)
      matmul.rowBlock(i, least(blockRows, args.m - i));
    return nullptr;
  }

private:
  using V = Vec<Isa, T>;
  using P = Product<Isa, T>;
  /// Rows of A that lie side by side in memory.
  static constexpr int64_t group = V::lanes > P::rows ? V::lanes : P::rows;
  static_assert(group % P::rows == 0);
  static constexpr int64_t depth = 2048 / sizeof(T) * 3 / 4;
  static constexpr int64_t blockRows = 512;

  explicit Matmul(const MatmulArgs<T> &args) : args(args) {}

  bool allocate() {
    size_t bytes = carved<T>(blockRows * depth) +
                   carved<T>(depth * P::columns) +
                   carved<T>(P::rows * P::columns);
    void *memory = scratch(Slot::Panels, bytes);
    if (!memory)
      return false;
    Carver carver(memory);
    block = carver.take<T>(blockRows * depth);
    panel = carver.take<T>(depth * P::columns);
    edge = carver.take<T>(P::rows * P::columns);
    for (int64_t i = 0; i < P::rows; ++i) {
      edgeRows[i] = i * P::columns;
    }
    return true;
  }

  void rowBlock(int64_t row, int64_t count) {
    int64_t k = 0;
    do {
      int64_t kCount = least(depth, args.k - k);
      packBlock(row, count, k, kCount);
      bool add = args.accumulate || k > 0;
      for (int64_t n = 0; n < args.n; n += P::columns) {
        int64_t nCount = least(P::columns, args.n - n);
        Pack<Isa, T>::transposed(
            {args.w.at(k, n), args.w.strides[1], args.w.strides[0]}, nCount,
            kCount, P::columns, panel, P::columns);
        for (int64_t i = 0; i < count; i += P::rows)
          tile(row, i, least(P::rows, count - i), n, nCount, kCount, add);
      }
      k += kCount;
    } while (k < args.k);
  }

  /// Groups of `group` rows, each stored as [k][group].
  void packBlock(int64_t row, int64_t count, int64_t k, int64_t kCount) {
    for (int64_t i = 0; i < count; i += group) {
      int64_t rows = least(group, count - i);
      T *to = block + i * depth;
      int64_t stride = args.a.rows[row + i + (rows > 1)] - args.a.rows[row + i];
      if (isUniform(row + i, rows, stride)) {
        Pack<Isa, T>::transposed({args.a.at(row + i, k), stride, args.a.stride},
                                 rows, kCount, group, to, group);
        continue;
      }
      for (int64_t j = 0; j < rows; ++j)
        Pack<Isa, T>::transposed({args.a.at(row + i + j, k), 0, args.a.stride},
                                 1, kCount, 1, to + j, group);
    }
  }

  bool isUniform(int64_t row, int64_t count, int64_t stride) const {
    for (int64_t i = 1; i < count; ++i)
      if (args.a.rows[row + i] - args.a.rows[row + i - 1] != stride)
        return false;
    return true;
  }

  void tile(int64_t row, int64_t i, int64_t count, int64_t n, int64_t nCount,
            int64_t kCount, bool add) {
    const T *a = block + i / group * group * depth + i % group;
    const T *factors = add ? &one : nullptr;
    if (nCount == P::columns && args.c.stride == 1)
      return P::tile({a, group, panel, P::columns, args.c.data + n,
                      args.c.rows + row + i, factors},
                     count, kCount);
    P::tile({a, group, panel, P::columns, edge, edgeRows}, count, kCount);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t j = 0; j < nCount; ++j) {
        T *c = args.c.at(row + i + r, n + j);
        *c = add ? *c + edge[r * P::columns + j] : edge[r * P::columns + j];
      }
    }
  }

  const MatmulArgs<T> &args;
  T *block, *panel, *edge;
  int64_t edgeRows[P::rows];
  T one = 1;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_MATMUL_H
