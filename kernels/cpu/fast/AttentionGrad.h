//===- fast/AttentionGrad.h - Fast adjoint of attention ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ATTENTIONGRAD_H
#define CP_KERNELS_CPU_FAST_ATTENTIONGRAD_H

#include "Arguments.h"
#include "CeilDiv.h"
#include "OpArguments.h"
#include "Team.h"
#include "fast/AttentionGradTile.h"

namespace cp::kernels::fast {

/// A head of keys is one thread's, so that the sums of its cotangents are of
/// one order. Blocks of query tiles of all its heads go through the keys
/// together: each tile of keys is packed once for them.
template <typename Isa, typename T> class AttentionGrad {
public:
  static const char *run(const Call &call) {
    AttentionGradArgs<T> args;
    const char *message = decode(call, args);
    return message ? message : compute(args);
  }
  static const char *runBlock(const Call &call) {
    AttentionGradArgs<T> args;
    const char *message = decodeBlock(call, args);
    return message ? message : compute(args);
  }

private:
  using Acc = AccumulatorOf<T>;
  static constexpr int64_t blockTiles = 8;

  static const char *compute(const AttentionGradArgs<T> &args) {
    return share(args.b * args.hkv,
                 3 * args.b * args.hq * args.l * args.s * args.d,
                 [&](Items &items) -> const char * {
                   AttentionGrad grad(args);
                   if (!grad.allocate())
                     return outOfMemory("attention_grad");
                   for (int64_t i; items.take(i);)
                     grad.head(i / args.hkv, i % args.hkv);
                   return nullptr;
                 });
  }

  explicit AttentionGrad(const AttentionGradArgs<T> &args)
      : args(args), tile(args.d, args.e, args.scale), allKeys{0, args.s, 1},
        keys(args.kRuns.words ? args.kRuns : Runs{allKeys, args.s > 0}) {}

  bool allocate() {
    int64_t width = tile.keyWidth() + tile.valueWidth();
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + blockTiles * tile.queryBytes() +
                                  2 * carved<Acc>(args.s * width));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    for (QueryGradTile<Acc> &each : queries)
      tile.allocate(carver, each);
    dk = carver.take<Acc>(args.s * tile.keyWidth());
    dv = carver.take<Acc>(args.s * tile.valueWidth());
    return true;
  }

  void head(int64_t batch, int64_t keyHead) {
    b = batch;
    g = keyHead;
    for (int64_t i = 0; i < args.s * tile.keyWidth(); ++i)
      dk[i] = 0;
    for (int64_t i = 0; i < args.s * tile.valueWidth(); ++i)
      dv[i] = 0;
    int64_t each = args.headsPerGroup(), count = 0;
    Span span;
    for (int64_t row = 0; nextSpan(row, span); row += span.count) {
      Reach reach = reachOf(args.mask, span, placesOf(b));
      for (int64_t h = g * each; h < (g + 1) * each; ++h) {
        start(queries[count], span, reach, h);
        headsInBlock[count++] = h;
        if (count == blockTiles)
          block(count);
      }
    }
    if (count > 0)
      block(count);
    storeKeys(dk, tile.keyWidth(), args.d, args.dkBefore, args.dk);
    storeKeys(dv, tile.valueWidth(), args.e, args.dvBefore, args.dv);
  }

  View<const int64_t, 1> placesOf(int64_t element) const {
    if (!args.places.data)
      return {};
    return {args.places.at(element), {args.places.strides[1]}};
  }

  /// The queries from `row` on, as long as they stand in order in the whole.
  bool nextSpan(int64_t row, Span &span) const {
    span.local = row;
    span.count = 0;
    for (; row < args.l && span.count < attentionTile; ++row) {
      int64_t position = args.positions.data ? *args.positions.at(row) : row;
      if (span.count > 0 && position <= span.last())
        break;
      span.positions[span.count++] = position;
    }
    return span.count > 0;
  }

  void start(QueryGradTile<Acc> &to, const Span &span, const Reach &reach,
             int64_t h) const {
    int64_t row = span.local;
    to.span = span;
    to.reach = reach;
    for (int64_t i = 0; i < span.count; ++i) {
      to.inner[i] =
          args.dlse.data ? -Acc(*args.dlse.at(b, h, row + i)) : Acc(0);
      to.top[i] = Acc(double(*args.lse.at(b, h, row + i)) *
                      ExpConstants<double>::log2e);
    }
    tile.start(to, rowsOf(args.q, row, h), rowsOf(args.out, row, h),
               rowsOf(args.dout, row, h));
  }

  Matrix<const T> rowsOf(const View<const T, 4> &view, int64_t row,
                         int64_t h) const {
    return {view.at(b, row, h), view.strides[1], view.strides[3]};
  }

  /// The first `count` tiles of queries; none are left then.
  void block(int64_t &count) {
    Span span;
    for (SpanWalk walk(keys); walk.next(span);) {
      if (!isSeen(count, span))
        continue;
      tile.useKeys(span, rowsOf(args.k, span.local, g),
                   rowsOf(args.v, span.local, g));
      for (int64_t i = 0; i < count; ++i)
        tile.pass(queries[i], dk + span.local * tile.keyWidth(),
                  dv + span.local * tile.valueWidth());
    }
    for (int64_t i = 0; i < count; ++i)
      storeQueries(queries[i], headsInBlock[i]);
    count = 0;
  }

  bool isSeen(int64_t count, const Span &span) const {
    for (int64_t i = 0; i < count; ++i)
      if (sightOf(queries[i].reach, span) != Sight::None)
        return true;
    return false;
  }

  /// What there was of a sum.
  static Acc before(const View<const Acc, 4> &sums, int64_t b, int64_t row,
                    int64_t head, int64_t i) {
    return sums.data ? *sums.at(b, row, head, i) : Acc(0);
  }

  void storeQueries(const QueryGradTile<Acc> &from, int64_t h) const {
    for (int64_t i = 0; i < from.span.count; ++i) {
      int64_t row = from.span.local + i;
      for (int64_t c = 0; c < args.d; ++c) {
        Acc sum = before(args.dqBefore, b, row, h, c) +
                  from.sums[i * tile.keyWidth() + c];
        if (args.dqSum.data)
          *args.dqSum.at(b, row, h, c) = sum;
        else
          *args.dq.at(b, row, h, c) = T(sum);
      }
    }
  }

  void storeKeys(const Acc *from, int64_t width, int64_t columns,
                 const View<const Acc, 4> &sums, const View<Acc, 4> &to) const {
    for (int64_t row = 0; row < args.s; ++row)
      for (int64_t c = 0; c < columns; ++c)
        *to.at(b, row, g, c) =
            before(sums, b, row, g, c) + from[row * width + c];
  }

  const AttentionGradArgs<T> &args;
  AttentionGradTile<Isa, T> tile;
  const int64_t allKeys[Runs::wordsPerRun];
  const Runs keys;
  QueryGradTile<Acc> queries[blockTiles];
  int64_t headsInBlock[blockTiles];
  /// Of the head at hand.
  int64_t b = 0, g = 0;
  Acc *dk, *dv;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTIONGRAD_H
