//===- fast/Ssd.h - Fast scan -----------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSD_H
#define CP_KERNELS_CPU_FAST_SSD_H

#include "Arguments.h"
#include "HeadBlocks.h"
#include "OpArguments.h"
#include "Team.h"
#include "fast/SsdTile.h"

namespace cp::kernels::fast {

/// The rows [t...] of one head (or group) as a matrix.
template <typename T>
static inline Matrix<T> tokens(const View<T, 4> &view, int64_t b, int64_t t,
                               int64_t h) {
  return {view.at(b, t, h), view.strides[1], view.strides[3]};
}
/// One state [p, n].
template <typename T>
static inline Matrix<T> stateOf(const View<T, 4> &view, int64_t b, int64_t h) {
  return {view.at(b, h), view.strides[2], view.strides[3]};
}

template <typename T>
static inline Skip<T> skipOf(const View<const T, 2> &D, int64_t h) {
  return {D.data ? D.at(h) : nullptr, D.strides[1]};
}

/// The rows of a piece become 0, in the heads of a block.
template <typename T>
static inline void clearRows(const View<T, 4> &y, int64_t p,
                             const HeadBlock &block, const Piece &piece) {
  for (int64_t t = piece.first; t < piece.first + piece.count; ++t)
    for (int64_t h = block.begin; h < block.end; ++h)
      for (int64_t i = 0; i < p; ++i)
        *y.at(block.b, t, h, i) = T(0);
}

/// Tile by tile; a tile is of one sequence. Its size is the kernel's own: the
/// call's chunk size only says how the sum may be cut, and no result depends on
/// it.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class Ssd {
public:
  static const char *compute(const SsdArgs<T> &args) {
    SsdTile<Isa, T, Factor> tile(args.p, args.n, args.outputs());
    HeadBlocks blocks(args, tile.stateSize() * int64_t(sizeof(Acc)));
    return share(blocks.count, args.cost(), [&](Items &items) -> const char * {
      Ssd ssd(args, blocks);
      if (!ssd.allocate())
        return outOfMemory("ssd");
      for (int64_t i; items.take(i);)
        ssd.block(blocks[i]);
      return nullptr;
    });
  }

private:
  using Acc = AccumulatorOf<T>;

  Ssd(const SsdArgs<T> &args, const HeadBlocks &blocks)
      : args(args), tile(args.p, args.n, args.outputs()),
        perBlock(blocks.perBlock) {}

  bool allocate() {
    int64_t stateElements = perBlock * tile.stateSize();
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + carved<Acc>(stateElements));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    states = carver.take<Acc>(stateElements);
    return true;
  }

  Acc *state(const HeadBlock &block, int64_t h) {
    return states + (h - block.begin) * tile.stateSize();
  }

  void clear(const HeadBlock &block) {
    for (int64_t i = 0; i < (block.end - block.begin) * tile.stateSize(); ++i)
      states[i] = 0;
  }

  void block(const HeadBlock &block) {
    clear(block);
    for (int64_t h = block.begin; h < block.end && args.initial.data; ++h)
      tile.loadState(stateOf(args.initial, block.b, h), state(block, h));
    Piece piece;
    for (PieceWalk walk(args.places, block.b, 0, args.l, tileTokens);
         walk.next(piece);) {
      if (piece.starts)
        clear(block);
      if (piece.hasTokens)
        heads(block, piece.first, piece.count);
      else
        clearRows(args.y, args.p, block, piece);
    }
    for (int64_t h = block.begin; h < block.end; ++h)
      tile.storeState(state(block, h), stateOf(args.finalState, block.b, h));
    tile.finish();
  }

  void heads(const HeadBlock &block, int64_t t, int64_t count) {
    int64_t b = block.b;
    tile.loadGroup(tokens(args.B, b, t, block.g), tokens(args.C, b, t, block.g),
                   count);
    for (int64_t h = block.begin; h < block.end; ++h) {
      SsdSteps<Isa, Acc> steps;
      steps.compute(args.step, b, t, count, h);
      tile.output(tokens(args.x, b, t, h), steps, state(block, h),
                  skipOf(args.D, h), tokens(args.y, b, t, h));
      tile.advance(steps, state(block, h));
    }
  }

  const SsdArgs<T> &args;
  SsdTile<Isa, T, Factor> tile;
  int64_t perBlock;
  Acc *states;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSD_H
