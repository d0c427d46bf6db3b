//===- fast/Matmul.h - Fast matrix product ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The loop nest of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008), one cache further out: a panel of W stays in the
// second cache while a block of A streams from the third. A is packed by each
// thread for itself where there are blocks enough, otherwise for all together.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_MATMUL_H
#define CP_KERNELS_CPU_FAST_MATMUL_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "MatmulPlan.h"
#include "OpArguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Pack.h"
#include "fast/Product.h"

#include <type_traits>

namespace cp::kernels::fast {

/// A and W are packed as `Packed`: the type that sums, or Pair, for processors
/// that multiply bf16 (Isa::dot). Sums are stored as `Out`.
template <typename Isa, typename T, typename Packed = AccumulatorOf<T>,
          typename Out = T>
class Matmul {
public:
  using Args = MatmulArgs<T, Out>;

  static const char *run(const Call &call) {
    Args args;
    if (const char *message = decode(call, args))
      return message;
    if constexpr (isPaired)
      if (!liesInPairs(args))
        return Matmul<Isa, T>::compute(args);
    return compute(args);
  }

  static const char *compute(const Args &args) {
    MatmulPlan plan({args.m, args.n, args.k / perSource, sizeof(Packed), group,
                     P::columns, !sumsInPlace});
    if (!plan.hasOwnBlocks)
      return multiplyRows(args, plan, 0, args.m);
    int64_t blocks = ceilDiv(args.m, plan.rows);
    return share(blocks, args.m * args.n * args.k,
                 [&](Items &items) -> const char * {
                   const char *message = nullptr;
                   for (int64_t i; !message && items.take(i);)
                     message = multiplyRows(args, plan, i * plan.rows,
                                            least(args.m, (i + 1) * plan.rows));
                   return message;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  /// As long as what a chain costs at its end is not felt: sums of 768 to 5120
  /// products are then off by 2.1e-7 to 2.3e-7, relative, in f32; one sum by
  /// about 3e-7.
  static constexpr int64_t chain = 128;
  using P = Product<Isa, Acc, Packed, chain>;
  static constexpr bool isPaired = std::is_same_v<Packed, Pair>;
  /// What is packed one by one, `perSource` elements of T.
  using Source = std::conditional_t<isPaired, Pair, T>;
  using Packer = Pack<Isa, Source, Packed>;
  static constexpr int64_t perSource = isPaired ? 2 : 1;
  /// Whether C itself holds the sums while k runs. Otherwise they are kept
  /// aside, and rounded once.
  static constexpr bool sumsInPlace = std::is_same_v<Out, Acc>;
  /// Rows of A that lie side by side in memory: those of a tile, so that it
  /// reads whole cache lines.
  static constexpr int64_t group = P::rows;
  /// Registers with as many lanes as a group has rows.
  struct GroupIsa : Isa {
    static constexpr int bytes =
        int(least(Isa::bytes, group *int64_t(sizeof(Packed))));
  };
  using GroupPacker = Pack<GroupIsa, Source, Packed>;
  static constexpr int64_t groupsPerItem = 8;
  /// Where k does not lie side by side, and groups do: so many of them share an
  /// item, of which so much of k is packed at once, so that what memory
  /// delivers together is used together.
  static constexpr int64_t groupsByDepth = 16, depthTogether = 32;

  /// What of A is packed: rows [row, row + rows), k in [k, k + depth).
  struct Block {
    Packed *data;
    int64_t row, rows, k, depth;
  };

  /// Whether k lies without gaps, in an even number of elements, from places
  /// that are a number of pairs apart.
  static bool liesInPairs(const Args &args) {
    return args.k % 2 == 0 && args.a.stride == 1 && args.w.strides[0] == 1 &&
           args.w.strides[1] % 2 == 0;
  }
  static int64_t aStride(const Args &args) {
    return isPaired ? 1 : args.a.stride;
  }
  static const Source *aAt(const Args &args, int64_t row, int64_t k) {
    return reinterpret_cast<const Source *>(args.aAt(row, k * perSource));
  }
  int64_t wStride() const { return isPaired ? 1 : args.w.strides[0]; }
  const Source *wAt(int64_t k, int64_t n) const {
    return reinterpret_cast<const Source *>(args.wAt(k * perSource, n));
  }

  /// Rows [begin, end) of C, `begin` where a block starts.
  static const char *multiplyRows(const Args &args, const MatmulPlan &plan,
                                  int64_t begin, int64_t end) {
    auto *packed = static_cast<Packed *>(
        scratch(Slot::Panels, carved<Packed>(plan.rows * plan.blockDepth)));
    if (!packed)
      return outOfMemory("matmul");
    int64_t k = 0;
    do {
      for (int64_t row = begin; row < end; row += plan.rows) {
        Block block = {packed, row, least(plan.rows, end - row), k,
                       least(plan.blockDepth, args.k / perSource - k)};
        pack(args, block);
        if (const char *message = multiply(args, plan, block))
          return message;
      }
      k += plan.blockDepth;
    } while (k < args.k / perSource);
    return nullptr;
  }

  /// A to groups of rows, each stored as [k][group].
  static void pack(const Args &args, const Block &block) {
    int64_t itemRows = (args.aDepth ? groupsByDepth : groupsPerItem) * group;
    share(ceilDiv(block.rows, itemRows), block.rows * block.depth * perSource,
          [&](Items &items) -> const char * {
            for (int64_t item; items.take(item);) {
              int64_t begin = item * itemRows;
              int64_t end = least(block.rows, begin + itemRows);
              if (args.aDepth)
                packByDepth(args, block, begin, end);
              for (int64_t i = begin; i < end && !args.aDepth; i += group)
                packGroup(args, block, i, least(group, block.rows - i));
            }
            return nullptr;
          });
  }

  /// The rows [begin, end) of a block, while what is next of k is fetched: the
  /// processor does not see that it lies a row further on.
  static void packByDepth(const Args &args, const Block &block, int64_t begin,
                          int64_t end) {
    for (int64_t k = 0; k < block.depth; k += depthTogether)
      for (int64_t i = begin, ahead = k + depthTogether; i < end;
           i += group, ++ahead) {
        if (ahead < block.depth && args.a.stride == 1)
          for (int64_t j = begin; j < end; j += 64 / int64_t(sizeof(T)))
            __builtin_prefetch(args.a.data + args.aDepth[block.k + ahead] +
                               block.row + j);
        packDepth<GroupPacker>(
            args.aDepth + block.k + k, least(depthTogether, block.depth - k),
            {args.a.data + (block.row + i) * args.a.stride, 0, args.a.stride},
            least(group, block.rows - i), group,
            block.data + i * block.depth + k * group);
      }
  }

  static void packGroup(const Args &args, const Block &block, int64_t i,
                        int64_t count) {
    Packed *to = block.data + i * block.depth;
    Matrix<const Source> rows;
    if (isMatrix(args, block, i, count, rows))
      return GroupPacker::transposed(rows, count, block.depth, group, to,
                                     group);
    for (int64_t j = 0; j < count; ++j)
      GroupPacker::transposed(
          {aAt(args, block.row + i + j, block.k), 0, aStride(args)}, 1,
          block.depth, 1, to + j, group);
  }

  /// Rows that start at these offsets from `first`, `count` elements of each
  /// and zeros behind them, one behind the other.
  template <typename RowPacker>
  static void packDepth(const int64_t *offsets, int64_t depth,
                        Matrix<const T> first, int64_t count, int64_t padded,
                        Packed *to) {
    if constexpr (!isPaired) {
      for (int64_t k = 0, next; k < depth; k = next) {
        // Those that are equally far apart are a matrix.
        int64_t stride = k + 1 < depth ? offsets[k + 1] - offsets[k] : 0;
        for (next = k + 1;
             next < depth && offsets[next] - offsets[next - 1] == stride;)
          ++next;
        RowPacker::rows({first.data + offsets[k], stride, first.columnStride},
                        next - k, count, padded, to + k * padded, padded);
      }
    }
  }

  /// Whether the rows from i of the block on are equally far apart; stores
  /// what of k the block has of them.
  static bool isMatrix(const Args &args, const Block &block, int64_t i,
                       int64_t count, Matrix<const Source> &rows) {
    const int64_t *offsets = args.a.rows + block.row + i;
    int64_t stride = count > 1 ? offsets[1] - offsets[0] : 0;
    if (stride % perSource != 0)
      return false;
    for (int64_t j = 1; j < count; ++j)
      if (offsets[j] - offsets[j - 1] != stride)
        return false;
    rows = {aAt(args, block.row + i, block.k), stride / perSource,
            aStride(args)};
    return true;
  }

  static const char *multiply(const Args &args, const MatmulPlan &plan,
                              const Block &block) {
    int64_t tiles = ceilDiv(args.n, P::columns);
    return share(tiles, block.rows * args.n * block.depth * perSource,
                 [&](Items &items) -> const char * {
                   Matmul matmul(args, plan, block);
                   if (!matmul.allocate())
                     return outOfMemory("matmul");
                   int64_t most = plan.columns / P::columns, first;
                   while (int64_t count = items.takeSome(most, first))
                     matmul.multiply(first * P::columns, count * P::columns);
                   return nullptr;
                 });
  }

  Matmul(const Args &args, const MatmulPlan &plan, const Block &block)
      : args(args), plan(plan), block(block) {}

  bool allocate() {
    int64_t sumElements = sumsInPlace ? 0 : plan.rows * plan.columns;
    void *memory =
        scratch(Slot::Kernel, carved<Packed>(plan.depth * plan.columns) +
                                  carved<Acc>(P::rows * P::columns) +
                                  carved<Acc>(sumElements));
    if (!memory)
      return false;
    Carver carver(memory);
    panel = carver.take<Packed>(plan.depth * plan.columns);
    edge = carver.take<Acc>(P::rows * P::columns);
    sums = carver.take<Acc>(sumElements);
    for (int64_t i = 0; i < P::rows; ++i) {
      edgeRows[i] = i * P::columns;
      sumsRows[i] = i * plan.columns;
    }
    return true;
  }

  /// All rows of the block by the panel of so many columns from this one on.
  void multiply(int64_t column, int64_t columns) {
    int64_t width = least(columns, args.n - column), k = 0;
    do {
      int64_t kCount = least(plan.depth, block.depth - k);
      packPanel(column, width, block.k + k, kCount);
      for (int64_t i = 0; i < block.rows; i += P::rows)
        for (int64_t n = 0; n < width; n += P::columns)
          tile(i, column, n, least(P::columns, width - n), k, kCount);
      k += kCount;
    } while (k < block.depth);
    for (int64_t i = 0; i < block.rows && !sumsInPlace; ++i)
      roundRow(sums + i * plan.columns, args.c.at(block.row + i, column),
               width);
  }

  /// Columns [column, column + width) of W to tiles, each stored as
  /// [k][columns].
  void packPanel(int64_t column, int64_t width, int64_t k, int64_t kCount) {
    if (args.wDepth) {
      for (int64_t i = 0; i < kCount; i += depthTogether)
        for (int64_t n = 0; n < width; n += P::columns)
          packDepth<Packer>(args.wDepth + k + i,
                            least(depthTogether, kCount - i),
                            {args.w.data + (column + n) * args.w.strides[1], 0,
                             args.w.strides[1]},
                            least(P::columns, width - n), P::columns,
                            panel + n * plan.depth + i * P::columns);
      return;
    }
    for (int64_t n = 0; n < width; n += P::columns)
      Packer::transposed(
          {wAt(k, column + n), args.w.strides[1] / perSource, wStride()},
          least(P::columns, width - n), kCount, P::columns,
          panel + n * plan.depth, P::columns);
  }

  /// The tile of rows from i of the block and columns from n of the panel, for
  /// k from here on in the block.
  void tile(int64_t i, int64_t column, int64_t n, int64_t nCount, int64_t k,
            int64_t kCount) {
    const Packed *a = block.data + i * block.depth + k * group;
    const Packed *w = panel + n * plan.depth;
    int64_t rows = least(P::rows, block.rows - i);
    if constexpr (!sumsInPlace) {
      // Sums are padded to whole tiles, so there are no edges.
      P::tile({a, group, w, P::columns, sums + i * plan.columns + n, sumsRows,
               k > 0 ? &one : nullptr},
              rows, kCount);
    } else {
      bool add = args.accumulate || block.k + k > 0;
      if (nCount == P::columns && args.c.stride == 1)
        return P::tile({a, group, w, P::columns, args.c.data + column + n,
                        args.c.rows + block.row + i, add ? &one : nullptr},
                       rows, kCount);
      P::tile({a, group, w, P::columns, edge, edgeRows}, rows, kCount);
      storeEdge(i, rows, column + n, nCount, add);
    }
  }

  void storeEdge(int64_t i, int64_t rows, int64_t column, int64_t width,
                 bool add) const {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < width; ++j) {
        Out *c = args.c.at(block.row + i + r, column + j);
        Acc sum = edge[r * P::columns + j];
        *c = add ? *c + sum : sum;
      }
  }

  void roundRow(const Acc *from, Out *to, int64_t width) const {
    int64_t stride = args.c.stride;
    for (int64_t j = 0; j < width; ++j) {
      Out *c = to + j * stride;
      *c = Out(args.accumulate ? Acc(*c) + from[j] : from[j]);
    }
  }

  const Args &args;
  const MatmulPlan &plan;
  const Block &block;
  Packed *panel;
  Acc *edge, *sums;
  int64_t edgeRows[P::rows], sumsRows[P::rows];
  Acc one = 1;
};

/// The same where k runs over rows.
template <typename Isa, typename T> const char *contractRows(const Call &call) {
  using Acc = AccumulatorOf<T>;
  MatmulArgs<T, Acc> args;
  const char *message = decodeRows<T>(call, args);
  return message ? message : Matmul<Isa, T, Acc, Acc>::compute(args);
}

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_MATMUL_H
