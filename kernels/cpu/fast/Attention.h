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
    Attention attention(args);
    if (!attention.allocate())
      return outOfMemory("attention");
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t g = 0; g < args.hkv; ++g)
        attention.group(b, g);
    return nullptr;
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
    for (QueryTile<Acc> &queries : block)
      tile.allocate(carver, queries);
    return true;
  }

  /// All query heads of key head `g`.
  void group(int64_t b, int64_t g) {
    int64_t heads = args.headsPerGroup();
    int64_t count = 0, headsInBlock[blockTiles];
    Span span;
    for (SpanWalk walk(args.qRuns); walk.next(span);)
      for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
        tile.start(
            block[count], span,
            {args.q.at(b, span.local, h), args.q.strides[1], args.q.strides[3]},
            Acc(args.scale));
        headsInBlock[count++] = h;
        if (count == blockTiles)
          finishBlock(b, g, headsInBlock, count);
      }
    finishBlock(b, g, headsInBlock, count);
  }

  void finishBlock(int64_t b, int64_t g, const int64_t *heads, int64_t &count) {
    Span keys;
    for (SpanWalk walk(args.kRuns); count && walk.next(keys);)
      attend(b, g, count, keys);
    for (int64_t i = 0; i < count; ++i)
      store(b, heads[i], block[i]);
    count = 0;
  }

  void attend(int64_t b, int64_t g, int64_t count, const Span &keys) {
    bool isSeen = false;
    for (int64_t i = 0; i < count; ++i)
      isSeen |= sightOf(args.mask, block[i].span, keys) != Sight::None;
    if (!isSeen)
      return;
    tile.loadKeys(
        keys,
        {args.k.at(b, keys.local, g), args.k.strides[1], args.k.strides[3]},
        {args.v.at(b, keys.local, g), args.v.strides[1], args.v.strides[3]});
    for (int64_t i = 0; i < count; ++i)
      tile.attend(block[i]);
  }

  void store(int64_t b, int64_t h, const QueryTile<Acc> &queries) {
    if (args.sums.data)
      storeTo(args.sums, b, h, queries);
    else
      storeTo(args.o, b, h, queries);
  }
  template <typename To>
  void storeTo(const View<To, 4> &o, int64_t b, int64_t h,
               const QueryTile<Acc> &queries) {
    int64_t row = queries.span.local;
    tile.finish(queries,
                Matrix<To>{o.at(b, row, h), o.strides[1], o.strides[3]},
                args.lse.at(b, h, row), args.lse.strides[2]);
  }

  const AttentionArgs<T> &args;
  AttentionTile<Isa, T> tile;
  QueryTile<Acc> block[blockTiles];
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTION_H
