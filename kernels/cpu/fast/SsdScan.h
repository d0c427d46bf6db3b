//===- fast/SsdScan.h - Fast second half of a cut scan ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDSCAN_H
#define CP_KERNELS_CPU_FAST_SSDSCAN_H

#include "fast/Ssd.h"

namespace cp::kernels::fast {

/// As Ssd, with step sizes given. A chunk that fits one tile takes its
/// own state from `chunk_states` and saves the product that would form it.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class SsdScan {
public:
  static const char *run(const Call &call) {
    SsdScanArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    return compute(args);
  }

  static const char *compute(const SsdScanArgs<T> &args) {
    SsdTile<Isa, T, Factor> tile(args.p, args.n, args.outputs());
    HeadBlocks blocks(args, tile.stateSize() * int64_t(sizeof(Acc)));
    return share(blocks.count, args.cost(), [&](Items &items) -> const char * {
      SsdScan scan(args, blocks);
      if (!scan.allocate())
        return outOfMemory("ssd_scan");
      for (int64_t i; items.take(i);)
        scan.block(blocks[i]);
      return nullptr;
    });
  }

private:
  using Acc = AccumulatorOf<T>;

  SsdScan(const SsdScanArgs<T> &args, const HeadBlocks &blocks)
      : args(args), tile(args.p, args.n, args.outputs()),
        perBlock(blocks.perBlock) {}

  bool allocate() {
    int64_t stateElements = (perBlock + 1) * tile.stateSize();
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + carved<Acc>(stateElements));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    states = carver.take<Acc>(stateElements);
    summand = states + perBlock * tile.stateSize();
    return true;
  }

  Acc *state(const HeadBlock &block, int64_t h) {
    return states + (h - block.begin) * tile.stateSize();
  }

  /// to = factor * to + from, where from is [p, n].
  void scaleAndAdd(Acc factor, Matrix<const Acc> from, Acc *to) {
    tile.loadState(from, summand);
    for (int64_t i = 0; i < tile.stateSize(); ++i)
      to[i] = factor * to[i] + summand[i];
  }

  void loadPrefix(int64_t b, int64_t h, Acc *state) {
    Matrix<const Acc> prefix = stateOf(args.prefixState, b, h);
    if (!args.initial.data)
      return tile.loadState(prefix, state);
    Acc decay = *args.prefixDecay.at(b, h);
    if (isStart(decay))
      return tile.loadState(prefix, state);
    tile.loadState(stateOf(args.initial, b, h), state);
    scaleAndAdd(decay, prefix, state);
  }

  void block(const HeadBlock &block) {
    for (int64_t h = block.begin; h < block.end; ++h)
      loadPrefix(block.b, h, state(block, h));
    for (int64_t chunk = 0; chunk < args.chunks(); ++chunk) {
      int64_t begin = chunk * args.chunk;
      pieces(block, begin, least(args.l, begin + args.chunk));
    }
    for (int64_t h = block.begin; h < block.end; ++h)
      tile.storeState(state(block, h), stateOf(args.finalState, block.b, h));
    tile.finish();
  }

  /// The tokens [begin, end) of one chunk.
  void pieces(const HeadBlock &block, int64_t begin, int64_t end) {
    Piece piece;
    for (PieceWalk walk(args.places, block.b, begin, end, tileTokens);
         walk.next(piece);) {
      if (piece.starts)
        clear(block);
      bool isChunk = args.chunk <= tileTokens && piece.count == end - begin;
      if (piece.hasTokens)
        heads(block, piece.first, piece.count, isChunk);
      else
        clearRows(args.y, args.p, block, piece);
    }
  }

  void clear(const HeadBlock &block) {
    for (int64_t i = 0; i < (block.end - block.begin) * tile.stateSize(); ++i)
      states[i] = 0;
  }

  void heads(const HeadBlock &block, int64_t t, int64_t count, bool isChunk) {
    int64_t b = block.b;
    tile.loadGroup(tokens(args.B, b, t, block.g), tokens(args.C, b, t, block.g),
                   count);
    for (int64_t h = block.begin; h < block.end; ++h) {
      SsdSteps<Isa, Acc> steps;
      steps.load(args, b, t, count, h);
      tile.output(tokens(args.x, b, t, h), steps, state(block, h),
                  skipOf(args.D, h), tokens(args.y, b, t, h));
      if (isChunk)
        addChunk(b, t, h, steps, state(block, h));
      else
        tile.advance(steps, state(block, h));
    }
  }

  void addChunk(int64_t b, int64_t t, int64_t h,
                const SsdSteps<Isa, Acc> &steps, Acc *state) {
    const View<const Acc, 5> &chunks = args.chunkStates;
    scaleAndAdd(
        tile.decayOf(Acc(steps.end())),
        {chunks.at(b, t / args.chunk, h), chunks.strides[3], chunks.strides[4]},
        state);
  }

  const SsdScanArgs<T> &args;
  SsdTile<Isa, T, Factor> tile;
  int64_t perBlock;
  Acc *states, *summand;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSCAN_H
