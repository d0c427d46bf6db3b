//===- SsdGradStates.h - States of tiles on matrix units --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADSTATES_H
#define CP_KERNELS_CUDA_SSDGRADSTATES_H

#include "SsdGradSteps.h"
#include "Tile.h"

namespace cp::kernels::cuda {

/// SsdTileStates in bf16 with 64 tokens a tile, up to 64 channels and N
/// columns: a block a tile of a head, 16 channels a warp.
template <int N, bool Back> struct SsdGradStates {
  static constexpr int threads = 128, blocks = N <= 128 ? 3 : 2, band = 16;
  struct Shared {
    SsdGradSteps steps;
    Tile<tileTokens, 64> rows;
    Tile<tileTokens, N> columns;
  };

  SsdWork<BFloat16> work;
  /// What is multiplied, of [b, l, h, p] and [b, l, g, n].
  View<const BFloat16, 4> rows, columns;
  bool isFastRows, isFastColumns;
  ChannelSlice slice;

  CP_DEVICE void operator()() const {
    int64_t tile = blockX(), head = blockY(), b = blockZ();
    int64_t first = tile * tileTokens;
    auto &mine = shared<Shared>();
    int count = int(least(work.l - first, tileTokens));
    fillTile<threads>(mine.rows, thread(),
                      at(rows, b, first, head, slice.first),
                      {count, int(slice.width), rows.strides[1],
                       rows.strides[3], isFastRows});
    fillTile<threads>(mine.columns, thread(),
                      at(columns, b, first, head / (work.h / work.g)),
                      {count, int(work.n), columns.strides[1],
                       columns.strides[3], isFastColumns});
    commitCopies();
    if (warp() == 0)
      mine.steps.form(work, b, first, work.l, head);
    waitCopies<0>();
    barrier();
    const uint32_t (&wanted)[2] = Back ? mine.steps.atFront : mine.steps.atEnd;
    dropRows<threads>(mine.rows, wanted);
    dropRows<threads>(mine.columns, wanted);
    barrier();
    float sums[N / 8][4] = {};
    addTokens(sums);
    float *to = at(work.after, b, tile, head, slice.first);
    CP_UNROLL
    for (int j = 0; j < N / 8; ++j)
      CP_UNROLL
    for (int k = 0; k < 4; ++k) {
      int64_t channel = warp() * band + lane() / 4 + k / 2 * 8;
      int64_t column = j * 8 + lane() % 4 * 2 + k % 2;
      if (channel < slice.width && column < work.n)
        to[channel * work.n + column] = sums[j][k];
    }
    if (thread() == 0 && slice.number == 0)
      work.decays[(b * work.segments + tile) * work.h + head] =
          sharedLoad(&mine.steps.decay);
  }

private:
  /// sums += (factor rows)^T columns.
  CP_DEVICE static void addTokens(float (&sums)[N / 8][4]) {
    auto &mine = shared<Shared>();
    Fragments<Tile<tileTokens, 64>> ofRows;
    Fragments<Tile<tileTokens, N>> ofColumns;
    CP_NO_UNROLL
    for (int row = 0; row < tileTokens; row += band) {
      uint32_t a[4];
      ofRows.loadATransposed(a, mine.rows, row, warp() * band);
      CP_UNROLL
      for (int j = 0; j < 2; ++j) {
        float factors[2];
        CP_UNROLL
        for (int k = 0; k < 2; ++k)
          factors[k] = factorOf(row + lane() % 4 * 2 + j * 8 + k);
        CP_UNROLL
        for (int k = 2 * j; k < 2 * j + 2; ++k)
          a[k] = packed(lowOf(a[k]) * factors[0], highOf(a[k]) * factors[1]);
      }
      CP_UNROLL
      for (int j = 0; j < N / band; ++j) {
        uint32_t b[4];
        ofColumns.loadB(b, mine.columns, row, j * band);
        multiply(sums[2 * j], a, b[0], b[1]);
        multiply(sums[2 * j + 1], a, b[2], b[3]);
      }
    }
  }
  CP_DEVICE static float factorOf(int row) {
    auto &steps = shared<Shared>().steps;
    return Back
               ? sharedLoad(&steps.fromFront[row])
               : sharedLoad(&steps.toEnd[row]) * sharedLoad(&steps.deltas[row]);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADSTATES_H
