//===- SsdGradTilesSteps.h - Cotangents of steps ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADTILESSTEPS_H
#define CP_KERNELS_CUDA_SSDGRADTILESSTEPS_H

#include "SsdGradTilesThread.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

/// What of the state in front, which is there, is left behind the tile, times
/// its cotangent.
template <typename Kernel>
CP_DEVICE float SsdGradTilesThread<Kernel>::throughState() const {
  float decay = sharedLoad(&mine.steps.decay);
  if (isStartDecay(decay))
    return 0;
  const BFloat16 *behind = kernel.behind + stateAt();
  float sum = kernel.isFastState ? withState(behind) : withStateByOnes(behind);
  return decay * mine.sum.of(sum);
}

/// The thread's share of the state times `behind`. Pieces are on their way
/// together: one behind the other would each wait for memory.
template <typename Kernel>
CP_DEVICE float
SsdGradTilesThread<Kernel>::withState(const BFloat16 *behind) const {
  constexpr int piece = 8, all = width * N / (piece * Kernel::threads);
  constexpr int count = all < atOnce ? all : atOnce;
  float sum = 0;
  CP_NO_UNROLL
  for (int from = 0; from < all; from += count) {
    uint4 states[count], others[count];
    CP_UNROLL
    for (int i = 0; i < count; ++i) {
      int at = (thread() + (from + i) * Kernel::threads) * piece;
      int row = at / N, column = at % N;
      bool isThere = row < kernel.slice.width && column < work.n;
      others[i] =
          isThere
              ? *reinterpret_cast<const uint4 *>(behind + row * work.n + column)
              : zeros();
      states[i] = sharedLoad(reinterpret_cast<const uint4 *>(
          mine.state.elements + StateTile::offset(row, column)));
    }
    CP_UNROLL
    for (int i = 0; i < count; ++i) {
      float state[piece], other[piece];
      widen(states[i], state);
      widen(others[i], other);
      CP_UNROLL
      for (int k = 0; k < piece; ++k)
        sum += state[k] * other[k];
    }
  }
  return sum;
}

/// The same of states whose rows are not pieces of 16 bytes.
template <typename Kernel>
CP_DEVICE float
SsdGradTilesThread<Kernel>::withStateByOnes(const BFloat16 *behind) const {
  float sum = 0;
  for (int i = thread(); i < kernel.slice.width * N; i += Kernel::threads) {
    int row = i / N, column = i % N;
    if (column >= work.n)
      continue;
    BFloat16 state;
    state.bits =
        sharedLoad(mine.state.elements + StateTile::offset(row, column));
    sum += widened(state) * widened(behind[row * work.n + column]);
  }
  return sum;
}

/// What token t, which reads the row or is read of it, says of the row's decay.
template <typename Kernel>
CP_DEVICE double SsdGradTilesThread<Kernel>::ofDecayAt(int t, int row) const {
  // Loads behind a condition would be branches. Pairs are those of readers.
  float pair = sharedLoad(&mine.pairs[t > row ? t : row][row]);
  float front = sharedLoad(&mine.fromFront[t]);
  float end = sharedLoad(&mine.toEnd[t]);
  bool reads = mine.steps.isRead(t, row), isRead = mine.steps.isRead(row, t);
  pair = reads ? pair : 0;
  front = reads ? front : isRead ? end : 0;
  return double(pair) + double(front);
}

/// A thread a token.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::passSteps(double through) const {
  int row = thread();
  if (row >= tokens)
    return;
  bool isToken = SsdGradSteps::has(mine.steps.there, row);
  // Of another sequence not even what is not a number is added.
  double ofDecay = through;
  int begin = sharedLoad(&mine.steps.begin[row]);
  CP_NO_UNROLL
  for (int from = begin < 0 ? 0 : begin / atOnce * atOnce; from < tokens;
       from += atOnce) {
    double terms[atOnce];
    CP_UNROLL
    for (int i = 0; i < atOnce; ++i)
      terms[i] = ofDecayAt(from + i, row);
    CP_UNROLL
    for (int i = 0; i < atOnce; ++i)
      ofDecay += terms[i];
  }
  double rate = decayRateOf(double(widened(*at(work.aLog, head()))));
  double delta = double(sharedLoad(&mine.steps.deltas[row])), dDt = 0;
  ofDecay *= rate;
  if (isToken)
    dDt = (ofDecay + double(sharedLoad(&mine.direct[row]))) *
          stepSlopeOf(work.step, *at(work.step.dt, b(), first() + row, head()),
                      biasOf(work.step, head()));
  if (int64_t t = first() + row; t < work.l) {
    if (work.ddtSums) {
      float *sum = work.ddtSums + (b() * work.l + t) * work.h + head();
      *sum = (kernel.slice.number ? *sum : 0) + float(dDt);
    } else {
      *at(work.ddt, b(), t, head()) = narrowed<BFloat16>(float(dDt));
    }
  }
  double dALog = warpSum(isToken ? ofDecay * delta : 0.0);
  double dBias = warpSum(dDt);
  if (lane() == 0) {
    sharedStore(&mine.totals[warp()][0], dALog);
    sharedStore(&mine.totals[warp()][1], dBias);
  }
}

/// By the threads that have no token: a channel each.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::passD() const {
  int channel = thread() - tokens;
  if (channel < 0 || channel >= kernel.slice.width)
    return;
  auto numberAt = [&](const TileOf64 &tile, int row) {
    BFloat16 number;
    number.bits = sharedLoad(tile.elements + TileOf64::offset(row, channel));
    return widened(number);
  };
  float sum = 0;
  for (int row = 0; row < tokens; ++row)
    sum += numberAt(mine.dy, row) * numberAt(mine.x, row);
  work.dD[tile() * work.p + kernel.slice.first + channel] = sum;
}

template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::storeTotals() const {
  // [b, tiles, slices, h].
  int64_t to = tile() - head();
  to = to * kernel.slice.count + kernel.slice.number * work.h + head();
  work.dALog[to] =
      sharedLoad(&mine.totals[0][0]) + sharedLoad(&mine.totals[1][0]);
  work.dBias[to] =
      sharedLoad(&mine.totals[0][1]) + sharedLoad(&mine.totals[1][1]);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADTILESSTEPS_H
