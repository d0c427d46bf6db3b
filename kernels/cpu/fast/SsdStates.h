//===- fast/SsdStates.h - Fast first half of a cut scan ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDSTATES_H
#define CP_KERNELS_CPU_FAST_SSDSTATES_H

#include "fast/Ssd.h"

namespace cp::kernels::fast {

/// For each tile E = sum_s exp(cum_end - cum_s) delta_s x_s B_s^T as a matrix
/// product, where cum counts from the tile's start, then state = exp(cum_end)
/// state + E for the chunk's state; likewise with chunks for that of the whole.
/// States are [p][n] here, as the call wants them.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class SsdStates {
public:
  static const char *run(const Call &call) {
    SsdStatesArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    return compute(args);
  }

  static const char *compute(const SsdStatesArgs<T> &args) {
    // Of each head, the state of the whole and that of a chunk.
    int64_t padded = roundUp(args.n, P::columns);
    HeadBlocks blocks(args, 2 * args.p * padded * int64_t(sizeof(Acc)));
    return share(blocks.count, args.cost() / 2,
                 [&](Items &items) -> const char * {
                   SsdStates states(args, blocks);
                   if (!states.allocate())
                     return outOfMemory("ssd_states");
                   for (int64_t i; items.take(i);)
                     states.block(blocks[i]);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;
  static constexpr int64_t tokenWords =
      SsdPack<Isa, T, Factor>::words(tileTokens);
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Packer = SsdPack<Isa, T, Factor>;
  using P = typename SsdTile<Isa, T, Factor>::P;

  SsdStates(const SsdStatesArgs<T> &args, const HeadBlocks &blocks)
      : args(args), perBlock(blocks.perBlock),
        paddedP(roundUp(args.p, V::lanes)),
        paddedN(roundUp(args.n, P::columns)), size(args.p * paddedN) {}

  bool allocate() {
    void *memory =
        scratch(Slot::Kernel, 2 * carved<Acc>(perBlock * size) +
                                  carved<Factor>(tokenWords * paddedN) +
                                  carved<Factor>(tokenWords * paddedP) +
                                  2 * carved<double>(perBlock) +
                                  carved<int64_t>(args.p));
    if (!memory)
      return false;
    Carver carver(memory);
    whole = carver.take<Acc>(perBlock * size);
    chunkState = carver.take<Acc>(perBlock * size);
    bRows = carver.take<Factor>(tokenWords * paddedN);
    decayed = carver.take<Factor>(tokenWords * paddedP);
    totals = carver.take<double>(perBlock);
    chunkTotals = carver.take<double>(perBlock);
    stateRows = carver.take<int64_t>(args.p);
    for (int64_t i = 0; i < args.p; ++i)
      stateRows[i] = i * paddedN;
    return true;
  }

  void block(const HeadBlock &block) {
    int64_t count = block.end - block.begin;
    for (int64_t i = 0; i < count * size; ++i)
      whole[i] = 0;
    for (int64_t i = 0; i < count; ++i)
      totals[i] = 0;
    bool hasStart = false;
    for (int64_t chunk = 0; chunk < args.chunks(); ++chunk) {
      bool starts = formStates(block, chunk * args.chunk,
                               least(args.l, (chunk + 1) * args.chunk));
      hasStart |= starts;
      for (int64_t i = 0; i < count; ++i)
        finishChunk(block.b, chunk, block.begin + i, i, starts);
    }
    for (int64_t i = 0; i < count; ++i) {
      *args.decay.at(block.b, block.begin + i) =
          hasStart ? startDecay<Acc> : decayOf(totals[i]);
      store(whole + i * size, stateOf(args.state, block.b, block.begin + i));
    }
  }

  /// Of the chunk [first, end). Whether a sequence starts in it.
  bool formStates(const HeadBlock &block, int64_t first, int64_t end) {
    int64_t heads = block.end - block.begin;
    for (int64_t i = 0; i < heads; ++i)
      chunkTotals[i] = 0;
    bool starts = false, isEmpty = true;
    Piece piece;
    for (PieceWalk walk(args.places, block.b, first, end, tileTokens);
         walk.next(piece);) {
      starts |= piece.starts;
      if (!piece.hasTokens) {
        clearSteps(block, piece);
        continue;
      }
      Packer::alongRows(tokens(args.B, block.b, piece.first, block.g),
                        piece.count, args.n, paddedN, bRows, paddedN);
      for (int64_t h = block.begin; h < block.end; ++h)
        addTile(block.b, piece.first, piece.count, h, h - block.begin,
                isEmpty || piece.starts);
      isEmpty = false;
    }
    for (int64_t i = 0; isEmpty && i < heads * size; ++i)
      chunkState[i] = 0;
    return starts;
  }

  void clearSteps(const HeadBlock &block, const Piece &piece) {
    for (int64_t t = piece.first; t < piece.first + piece.count; ++t)
      for (int64_t h = block.begin; h < block.end; ++h)
        *args.delta.at(block.b, t, h) = Acc(0);
  }

  /// `i` is the head's place in its block.
  void addTile(int64_t b, int64_t t, int64_t count, int64_t h, int64_t i,
               bool isFirst) {
    SsdSteps<Isa, Acc> steps;
    steps.compute(args.step, b, t, count, h);
    chunkTotals[i] += steps.end();
    Acc factors[tileTokens], past = decayOf(steps.end());
    steps.decaysToEnd(factors);
    for (int64_t s = 0; s < tileTokens; ++s)
      factors[s] *= steps.delta[s];
    for (int64_t s = 0; s < count; ++s)
      *args.delta.at(b, t + s, h) = steps.delta[s];
    for (int64_t w = 0; w < Packer::words(count); ++w)
      Packer::scaledRows(tokens(args.x, b, t, h), w, count, args.p, paddedP,
                         factors, nullptr, decayed + w * paddedP);
    P::matrix({decayed, paddedP, bRows, paddedN, chunkState + i * size,
               stateRows, isFirst ? nullptr : &past, 0},
              args.p, paddedN, Packer::words(count));
  }

  /// Where a sequence `starts` in the chunk, nothing before it counts.
  void finishChunk(int64_t b, int64_t chunk, int64_t h, int64_t i,
                   bool starts) {
    Acc decay = decayOf(chunkTotals[i]);
    totals[i] += chunkTotals[i];
    const Acc *from = chunkState + i * size;
    Acc *to = whole + i * size;
    if (starts)
      __builtin_memcpy(to, from, size_t(size) * sizeof(Acc));
    for (int64_t j = 0; j < size && !starts; ++j)
      to[j] = decay * to[j] + from[j];
    const View<Acc, 5> &chunks = args.chunkStates;
    store(from, {chunks.at(b, chunk, h), chunks.strides[3], chunks.strides[4]});
  }

  void store(const Acc *from, Matrix<Acc> to) const {
    for (int64_t i = 0; i < args.p; ++i) {
      Acc *row = to.data + i * to.rowStride;
      const Acc *source = from + i * paddedN;
      if (to.columnStride == 1)
        __builtin_memcpy(row, source, size_t(args.n) * sizeof(Acc));
      else
        for (int64_t j = 0; j < args.n; ++j)
          row[j * to.columnStride] = source[j];
    }
  }

  static Acc decayOf(double logDecay) {
    return M::exp(V::splat(Acc(logDecay)))[0];
  }

  const SsdStatesArgs<T> &args;
  int64_t perBlock, paddedP, paddedN, size;
  Acc *whole, *chunkState;
  /// Log decays of each head, since the first token and since the chunk's.
  double *totals, *chunkTotals;
  Factor *bRows, *decayed;
  int64_t *stateRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSTATES_H
