//===- fast/Attention.h - Fast attention ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ATTENTION_H
#define CP_KERNELS_CPU_FAST_ATTENTION_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Team.h"
#include "fast/AttentionTile.h"

namespace cp::kernels::fast {

/// A block of query tiles, of all heads that share keys, goes through the keys
/// together, so that each tile of keys comes from far away once for all of
/// them. Blocks of the same keys that follow each other on a thread find them
/// packed.
template <typename Isa, typename T> class Attention {
public:
  static const char *run(const Call &call) {
    AttentionArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t blocks = numBlocks(args), sets = args.b * args.hkv;
    // Whole sets of keys while there are enough of them for every thread; the
    // blocks of the last ones make up for threads that come late.
    int64_t whole = sets > numThreads() ? sets - numThreads() : 0;
    return share(whole + (sets - whole) * blocks,
                 args.b * args.hq * args.l * args.s * args.d,
                 [&](Items &items) -> const char * {
                   Attention attention(args, blocks);
                   if (!attention.allocate())
                     return outOfMemory("attention");
                   for (int64_t i; items.take(i);)
                     attention.item(i, whole, sets - whole);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  /// As many as the second cache holds beside a tile of keys, for d = 128.
  static constexpr int64_t blockTiles = 8;

  /// Of packed keys, at most: a part of the last cache.
  static constexpr size_t keptBytes = size_t(8) << 20;

  Attention(const AttentionArgs<T> &args, int64_t blocks)
      : args(args), tile(args.d, args.dv), blocks(blocks),
        kept(numSpans(args.kRuns)) {
    if (blocks == 1 || size_t(kept) * tile.keyBytes() > keptBytes)
      kept = 1;
  }

  bool allocate() {
    void *memory = scratch(Slot::Kernel,
                           tile.bytes() + blockTiles * tile.queryBytes() +
                               size_t(kept) * tile.keyBytes() +
                               carved<KeyTile<Acc>>(kept) + carved<bool>(kept));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    for (QueryTile<Acc> &queriesOfTile : queries)
      tile.allocate(carver, queriesOfTile);
    keys = carver.take<KeyTile<Acc>>(kept);
    isPacked = carver.take<bool>(kept);
    for (int64_t i = 0; i < kept; ++i)
      tile.allocate(carver, keys[i]);
    return true;
  }

  static int64_t numSpans(Runs runs) {
    int64_t spans = 0;
    Span span;
    for (SpanWalk walk(runs); walk.next(span);)
      ++spans;
    return spans;
  }

  /// All blocks of a set of keys, or one of the `others`, which take turns so
  /// that threads stay with their keys. Where the mask is causal the last
  /// blocks are the longest ones: they come first, so that none is left at the
  /// end.
  void item(int64_t i, int64_t whole, int64_t others) {
    if (i >= whole)
      return block(whole + (i - whole) % others,
                   blocks - 1 - (i - whole) / others);
    for (int64_t j = blocks; j-- > 0;)
      block(i, j);
  }

  /// Blocks of the query tiles of all heads of a group.
  static int64_t numBlocks(const AttentionArgs<T> &args) {
    return ceilDiv(numSpans(args.qRuns) * args.headsPerGroup(), blockTiles);
  }

  /// The tiles [i * blockTiles, ...) of a set of keys: head by head of a span,
  /// span by span.
  void block(int64_t set, int64_t i) {
    int64_t b = set / args.hkv, g = set % args.hkv;
    for (int64_t j = 0; j < kept && set != packedSet; ++j)
      isPacked[j] = false;
    packedSet = set;
    int64_t heads = args.headsPerGroup(), skip = i * blockTiles;
    int64_t count = 0, headsInBlock[blockTiles];
    Span span;
    for (SpanWalk walk(args.qRuns); count < blockTiles && walk.next(span);) {
      Reach reach = reachOf(args.mask, span, args.placesOf(b));
      for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
        if (skip-- > 0 || count == blockTiles)
          continue;
        tile.start(
            queries[count], span, reach,
            {args.q.at(b, span.local, h), args.q.strides[1], args.q.strides[3]},
            Acc(args.scale));
        headsInBlock[count++] = h;
      }
    }
    attendAll(b, g, headsInBlock, count);
  }

  void attendAll(int64_t b, int64_t g, const int64_t *heads, int64_t count) {
    Span span;
    SpanWalk walk(args.kRuns);
    for (int64_t i = 0; walk.next(span); ++i)
      if (isSeen(count, span)) {
        load(b, g, span, kept == 1 ? 0 : i);
        for (int64_t j = 0; j < count; ++j)
          tile.attend(queries[j]);
      }
    for (int64_t i = 0; i < count; ++i)
      store(b, heads[i], queries[i]);
  }

  bool isSeen(int64_t count, const Span &span) const {
    for (int64_t i = 0; i < count; ++i)
      if (sightOf(queries[i].reach, span) != Sight::None)
        return true;
    return false;
  }

  void load(int64_t b, int64_t g, const Span &span, int64_t slot) {
    if (!isPacked[slot])
      tile.start(
          keys[slot], span,
          {args.k.at(b, span.local, g), args.k.strides[1], args.k.strides[3]},
          {args.v.at(b, span.local, g), args.v.strides[1], args.v.strides[3]});
    isPacked[slot] = kept > 1;
    tile.use(span, keys[slot]);
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
  /// Of each set.
  int64_t blocks;
  /// How many tiles of keys have a place: all, or one for whichever is in use.
  int64_t kept;
  /// Those of the set `packedSet`, once they are packed.
  KeyTile<Acc> *keys;
  bool *isPacked;
  int64_t packedSet = -1;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTION_H
