//===- SsdGradSteps.h - Decays of a tile for matrix units -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADSTEPS_H
#define CP_KERNELS_CUDA_SSDGRADSTEPS_H

#include "SsdWork.h"

namespace cp::kernels::cuda {

/// What products of a tile of 64 tokens are weighed with. Rows without a token
/// have steps of 0 and see nothing; what stands in them must not be read.
struct SsdGradSteps {
  static constexpr int tokens = tileTokens;
  /// Of the logarithms of decays, to the base 2, each token's own included.
  float sums[tokens];
  float deltas[tokens];
  /// What is left of a token's input behind the tile, and to it of the state in
  /// front; 0 where another sequence begins between them.
  float toEnd[tokens], fromFront[tokens];
  /// The first row of its sequence, -1 where that is in front of the tile and
  /// `tokens` where there is no token.
  int begin[tokens];
  /// In two words: the rows with tokens, those that the state in front reaches,
  /// and those that reach the end.
  uint32_t there[2], atFront[2], atEnd[2];
  /// Of the whole tile.
  float decay;

  /// Of rows from `first` on, those from `end` on without tokens; by the lanes
  /// of one warp.
  template <typename T>
  CP_DEVICE void form(const SsdWork<T> &work, int64_t b, int64_t first,
                      int64_t end, int64_t head) {
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    double sum[2], all = 0;
    int starts[2];
    bool isThere[2];
    int lastStart = -1;
    CP_UNROLL
    for (int part = 0; part < 2; ++part) {
      int64_t t = first + part * warpSize + lane();
      int64_t place = t >= end           ? -1
                      : work.places.data ? *at(work.places, b, t)
                                         : 1;
      isThere[part] = place >= 0;
      float delta = 0;
      if (isThere[part])
        delta = stepSizeOf(work.step, *at(work.step.dt, b, t, head),
                           biasOf(work.step, head));
      sharedStore(&deltas[part * warpSize + lane()], delta);
      // The rate may be the largest number, so that it is not made larger
      // first. NaN stays.
      double log = rate * double(delta) * log2e;
      sum[part] = !isThere[part] ? 0 : log < -200 ? -200 : log;
      CP_UNROLL
      for (int lanes = 1; lanes < warpSize; lanes *= 2) {
        double below = shuffleUp(sum[part], lanes);
        sum[part] += lane() >= lanes ? below : 0;
      }
      sum[part] += all;
      all = shuffle(sum[part], warpSize - 1);
      uint32_t begins = vote(place == 0), rows = vote(isThere[part]);
      uint32_t upToHere = begins & (0xffffffffu >> (31 - lane()));
      starts[part] = upToHere ? part * warpSize + lastBit(upToHere) : lastStart;
      if (begins)
        lastStart = part * warpSize + lastBit(begins);
      if (lane() == 0)
        sharedStore(&there[part], rows);
    }
    CP_UNROLL
    for (int part = 0; part < 2; ++part) {
      int row = part * warpSize + lane();
      bool isAtFront = starts[part] < 0 && isThere[part];
      bool isAtEnd = row >= lastStart && isThere[part];
      sharedStore(&sums[row], float(sum[part]));
      sharedStore(&toEnd[row],
                  isAtEnd ? exp2Fast(float(all - sum[part])) : 0.f);
      sharedStore(&fromFront[row],
                  isAtFront ? exp2Fast(float(sum[part])) : 0.f);
      sharedStore(&begin[row], isThere[part] ? starts[part] : tokens);
      uint32_t front = vote(isAtFront), behind = vote(isAtEnd);
      if (lane() == 0) {
        sharedStore(&atFront[part], front);
        sharedStore(&atEnd[part], behind);
      }
    }
    if (lane() == 0)
      sharedStore(&decay, lastStart >= 0 ? startOfSequence<float>()
                                         : exp2Fast(float(all)));
  }

  CP_DEVICE static bool has(const uint32_t (&rows)[2], int row) {
    return sharedLoad(&rows[row / warpSize]) >> (row % warpSize) & 1;
  }
  /// A token that reads others, and one that is read.
  struct Reader {
    int t, begin;
    float sum;
  };
  struct Source {
    int s;
    bool isThere;
    float sum, delta;
  };
  CP_DEVICE Reader readerAt(int t) const {
    return {t, sharedLoad(&begin[t]), sharedLoad(&sums[t])};
  }
  CP_DEVICE Source sourceAt(int s) const {
    return {s, has(there, s), sharedLoad(&sums[s]), sharedLoad(&deltas[s])};
  }
  /// Whether one reads the other, without branches.
  CP_DEVICE static bool isRead(const Reader &reader, const Source &source) {
    return int(source.s <= reader.t) & int(source.s >= reader.begin) &
           int(source.isThere);
  }
  CP_DEVICE bool isRead(int t, int s) const {
    int from = sharedLoad(&begin[t]);
    return int(s <= t) & int(s >= from) & int(has(there, s));
  }
  /// What is left of the source where it is read.
  CP_DEVICE static float left(const Reader &reader, const Source &source) {
    return exp2Fast(reader.sum - source.sum);
  }
};

/// Zeros for the rows of a tile that are not among `rows`, whatever they are:
/// by all of a block's `Threads`, between two barriers.
template <int Threads, typename Tile>
CP_DEVICE void dropRows(Tile &tile, const uint32_t (&rows)[2]) {
  if ((sharedLoad(&rows[0]) & sharedLoad(&rows[1])) == 0xffffffffu)
    return;
  CP_NO_UNROLL
  for (int i = thread(); i < Tile::rows * Tile::columns / 2; i += Threads)
    if (!SsdGradSteps::has(rows, Tile::rowOfPair(i)))
      sharedStore(reinterpret_cast<uint32_t *>(tile.elements) + i, uint32_t(0));
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADSTEPS_H
