//===- fast/Attention.h - Fast attention ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ATTENTION_H
#define CP_KERNELS_CPU_FAST_ATTENTION_H

#include "Arguments.h"
#include "OpArguments.h"
#include "Team.h"
#include "fast/AttentionTile.h"

namespace cp::kernels::fast {

/// A block of query tiles, of all heads that share keys, goes through the keys
/// together: so each tile of keys is packed once for all of them.
template <typename Isa, typename T> class Attention {
public:
  static const char *run(const Call &call) {
    AttentionArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = numBlocks(args), count = args.b * args.hkv * blocks;
    return share(count, args.b * args.hq * args.l * args.s * args.d,
                 [&](Items &items) -> const char * {
                   Attention attention(args);
                   if (!attention.allocate())
                     return outOfMemory("attention");
                   // Where the mask is causal the last blocks are the longest
                   // ones: they come first, so that none is left at the end.
                   for (int64_t i; items.take(i);) {
                     int64_t last = count - 1 - i;
                     attention.block(last / blocks / args.hkv,
                                     last / blocks % args.hkv, last % blocks);
                   }
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  /// As many as the second cache holds beside a tile of keys, for d = 128.
  static constexpr int64_t blockTiles = 8;

  explicit Attention(const AttentionArgs<T> &args)
      : args(args), tile(args.mask, args.d, args.dv) {}

  bool allocate() {
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + blockTiles * tile.queryBytes());
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    for (QueryTile<Acc> &queriesOfTile : queries)
      tile.allocate(carver, queriesOfTile);
    return true;
  }

  /// Blocks of the query tiles of all heads of a group.
  static int64_t numBlocks(const AttentionArgs<T> &args) {
    int64_t spans = 0;
    Span span;
    for (SpanWalk walk(args.qRuns); walk.next(span);)
      ++spans;
    return (spans * args.headsPerGroup() + blockTiles - 1) / blockTiles;
  }

  /// The tiles [i * blockTiles, ...) of key head `g`: head by head of a span,
  /// span by span.
  void block(int64_t b, int64_t g, int64_t i) {
    int64_t heads = args.headsPerGroup(), skip = i * blockTiles;
    int64_t count = 0, headsInBlock[blockTiles];
    Span span;
    for (SpanWalk walk(args.qRuns); count < blockTiles && walk.next(span);)
      for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
        if (skip-- > 0 || count == blockTiles)
          continue;
        tile.start(
            queries[count], span,
            {args.q.at(b, span.local, h), args.q.strides[1], args.q.strides[3]},
            Acc(args.scale));
        headsInBlock[count++] = h;
      }
    attendAll(b, g, headsInBlock, count);
  }

  void attendAll(int64_t b, int64_t g, const int64_t *heads, int64_t count) {
    Span keys;
    for (SpanWalk walk(args.kRuns); walk.next(keys);)
      attend(b, g, count, keys);
    for (int64_t i = 0; i < count; ++i)
      store(b, heads[i], queries[i]);
  }

  void attend(int64_t b, int64_t g, int64_t count, const Span &keys) {
    bool isSeen = false;
    for (int64_t i = 0; i < count; ++i)
      isSeen |= sightOf(args.mask, queries[i].span, keys) != Sight::None;
    if (!isSeen)
      return;
    tile.loadKeys(
        keys,
        {args.k.at(b, keys.local, g), args.k.strides[1], args.k.strides[3]},
        {args.v.at(b, keys.local, g), args.v.strides[1], args.v.strides[3]});
    for (int64_t i = 0; i < count; ++i)
      tile.attend(queries[i]);
  }

  void store(int64_t b, int64_t h, const QueryTile<Acc> &from) {
    if (args.sums.data)
      storeTo(args.sums, b, h, from);
    else
      storeTo(args.o, b, h, from);
  }
  template <typename To>
  void storeTo(const View<To, 4> &o, int64_t b, int64_t h,
               const QueryTile<Acc> &from) {
    int64_t row = from.span.local;
    tile.finish(from, Matrix<To>{o.at(b, row, h), o.strides[1], o.strides[3]},
                args.lse.at(b, h, row), args.lse.strides[2]);
  }

  const AttentionArgs<T> &args;
  AttentionTile<Isa, T> tile;
  QueryTile<Acc> queries[blockTiles];
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTION_H
