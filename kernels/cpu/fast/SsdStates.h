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

/// For each chunk E = sum_s exp(cum_end - cum_s) delta_s x_s B_s^T as a matrix
/// product, then state = exp(cum_end) state + E. States are [p][n] here, as the
/// call wants them.
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
    void *memory = scratch(Slot::Kernel,
                           2 * carved<Acc>(perBlock * size) +
                               carved<Factor>(tokenWords * paddedN) +
                               carved<Factor>(tokenWords * paddedP) +
                               carved<Acc>(perBlock) + carved<int64_t>(args.p));
    if (!memory)
      return false;
    Carver carver(memory);
    whole = carver.take<Acc>(perBlock * size);
    chunkState = carver.take<Acc>(perBlock * size);
    bRows = carver.take<Factor>(tokenWords * paddedN);
    decayed = carver.take<Factor>(tokenWords * paddedP);
    totals = carver.take<Acc>(perBlock);
    stateRows = carver.take<int64_t>(args.p);
    for (int64_t i = 0; i < args.p; ++i)
      stateRows[i] = i * paddedN;
    return true;
  }

  void block(const HeadBlock &block) {
    for (int64_t i = 0; i < (block.end - block.begin) * size; ++i)
      whole[i] = 0;
    for (int64_t i = 0; i < (block.end - block.begin); ++i)
      totals[i] = 0;
    for (int64_t chunk = 0; chunk < args.chunks(); ++chunk) {
      int64_t first = chunk * args.chunk;
      int64_t end = least(args.l, first + args.chunk);
      for (int64_t h = block.begin; h < block.end; ++h)
        computeSteps(block.b, first, end, h);
      formStates(block, first, end);
      for (int64_t h = block.begin; h < block.end; ++h)
        finishChunk(block.b, chunk, end, h, h - block.begin);
    }
    for (int64_t i = 0; i < (block.end - block.begin); ++i) {
      *args.decay.at(block.b, block.begin + i) = decayOf(totals[i]);
      store(whole + i * size, stateOf(args.state, block.b, block.begin + i));
    }
  }

  /// Fills delta and log_decay of one chunk.
  void computeSteps(int64_t b, int64_t first, int64_t end, int64_t h) {
    double before = 0;
    for (int64_t t = first; t < end; t += tileTokens) {
      int64_t count = least(tileTokens, end - t);
      SsdSteps<Isa, Acc> steps;
      steps.compute(args.step, b, t, count, h, before);
      before = steps.logDecay[count - 1];
      for (int64_t i = 0; i < count; ++i) {
        *args.delta.at(b, t + i, h) = steps.delta[i];
        *args.logDecay.at(b, t + i, h) = Acc(steps.logDecay[i]);
      }
    }
  }

  void formStates(const HeadBlock &block, int64_t first, int64_t end) {
    int64_t b = block.b;
    for (int64_t t = first; t < end; t += tileTokens) {
      int64_t count = least(tileTokens, end - t);
      Packer::alongRows(tokens(args.B, b, t, block.g), count, args.n, paddedN,
                        bRows, paddedN);
      for (int64_t h = block.begin; h < block.end; ++h)
        addTile(b, t, count, *args.logDecay.at(b, end - 1, h), h,
                chunkState + (h - block.begin) * size, t != first);
    }
  }

  void addTile(int64_t b, int64_t t, int64_t count, Acc end, int64_t h, Acc *to,
               bool add) {
    Acc factors[tileTokens];
    for (int64_t i = 0; i < tileTokens; ++i)
      factors[i] = i < count ? end - *args.logDecay.at(b, t + i, h) : Acc(0);
    for (int64_t i = 0; i < tileTokens; i += V::lanes)
      V::store(factors + i, M::exp(V::load(factors + i)));
    for (int64_t i = 0; i < tileTokens; ++i)
      factors[i] =
          i < count ? factors[i] * *args.delta.at(b, t + i, h) : Acc(0);
    for (int64_t w = 0; w < Packer::words(count); ++w)
      Packer::scaledRows(tokens(args.x, b, t, h), w, count, args.p, paddedP,
                         factors, nullptr, decayed + w * paddedP);
    Acc one = 1;
    P::matrix({decayed, paddedP, bRows, paddedN, to, stateRows,
               add ? &one : nullptr, 0},
              args.p, paddedN, Packer::words(count));
  }

  /// `i` is the head's place in its block.
  void finishChunk(int64_t b, int64_t chunk, int64_t end, int64_t h,
                   int64_t i) {
    Acc logDecay = *args.logDecay.at(b, end - 1, h);
    Acc decay = decayOf(logDecay);
    totals[i] += logDecay;
    const Acc *from = chunkState + i * size;
    Acc *to = whole + i * size;
    for (int64_t j = 0; j < size; ++j)
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

  static Acc decayOf(Acc logDecay) { return M::exp(V::splat(logDecay))[0]; }

  const SsdStatesArgs<T> &args;
  int64_t perBlock, paddedP, paddedN, size;
  Acc *whole, *chunkState, *totals;
  Factor *bRows, *decayed;
  int64_t *stateRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSTATES_H
