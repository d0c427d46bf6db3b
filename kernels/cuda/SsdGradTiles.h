//===- SsdGradTiles.h - The adjoint of a tile on matrix units ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SsdGradTile, with its names, in bf16 and tiles of 64 tokens: sums are f32,
// and W K, W P delta, S and G are rounded to bf16 for the products they go
// into.
//
// A product over tokens meets some that a token does not see, with a weight of
// 0. What is not finite of those is left out of products, and where it is seen
// added by itself.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADTILES_H
#define CP_KERNELS_CUDA_SSDGRADTILES_H

#include "SsdGradGroupProducts.h"
#include "SsdGradTilesMemory.h"
#include "SsdGradTilesSteps.h"

namespace cp::kernels::cuda {

template <int N, bool ByGroup>
CP_DEVICE void SsdGradTiles<N, ByGroup>::operator()() const {
  // Blocks of a form that code does not have are not started.
  if constexpr (!ByGroup || codeHasWarpgroups)
    SsdGradTilesThread<SsdGradTiles>(*this).run();
  else
    giveUp();
}

/// Nobody reads blocks above the diagonal.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::formPairs() const {
  CP_NO_UNROLL
  for (int column = 0; column <= top(); column += band)
    formBlock(column);
}

template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::formBlock(int column) const {
  Fragments<TileOfN> ofN;
  Fragments<TileOf64> of64;
  float products[2][4] = {}, others[2][4] = {};
  auto add = [&](auto &fragments, auto &left, auto &right, int at,
                 float (&sums)[2][4]) {
    uint32_t a[4], b[4];
    fragments.loadA(a, left, top(), at);
    fragments.loadBTransposed(b, right, column, at);
    multiply(sums[0], a, b[0], b[1]);
    multiply(sums[1], a, b[2], b[3]);
  };
  CP_UNROLL_TWICE
  for (int k = 0; k < N; k += band)
    add(ofN, mine.C, mine.B, k, products);
  CP_UNROLL_TWICE
  for (int k = 0; k < width; k += band)
    add(of64, mine.dy, mine.x, k, others);
  storePairs(column, products, others);
}

/// Of 16 columns, from C B^T and dy x^T.
template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::storePairs(int column,
                                       const float (&products)[2][4],
                                       const float (&others)[2][4]) const {
  Pairs<Weights> pairs;
  // Behind a store they would be loaded once more.
  SsdGradSteps::Reader readers[2];
  SsdGradSteps::Source sources[2][2];
  CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    readers[j] = mine.steps.readerAt(rowOf(j));
    CP_UNROLL
    for (int k = 0; k < 2; ++k)
      sources[j][k] = mine.steps.sourceAt(column + columnOf(j) + k);
  }
  CP_UNROLL
  for (int j = 0; j < 4; ++j) {
    const SsdGradSteps::Reader &reader = readers[j / 2];
    float ofK[2], ofP[2];
    CP_UNROLL
    for (int k = 0; k < 2; ++k) {
      const SsdGradSteps::Source &source = sources[j % 2][k];
      // Of pairs that are not read this may be anything, and is left out; to
      // compute none of it would take a branch for each.
      bool isRead = SsdGradSteps::isRead(reader, source);
      float weight = SsdGradSteps::left(reader, source);
      float p = others[j % 2][j / 2 * 2 + k] * source.delta;
      ofK[k] = isRead ? weight * products[j % 2][j / 2 * 2 + k] : 0;
      ofP[k] = isRead ? weight * p : 0;
      sharedStore(&mine.pairs[reader.t][source.s], isRead ? ofK[k] * p : 0);
    }
    int row = top() + j / 2 * 8, at = column + j % 2 * 8;
    pairs.store(mine.weightedK, row, at, packed(ofK[0], ofK[1]));
    pairs.store(mine.weightedP, row, at, packed(ofP[0], ofP[1]));
  }
}

/// A thread a row of pairs.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::addUpPairs() const {
  int t = thread();
  if (t >= tokens)
    return;
  float before = 0;
  CP_NO_UNROLL
  for (int from = 0; from <= t; from += atOnce) {
    float here[atOnce];
    CP_UNROLL
    for (int i = 0; i < atOnce; ++i)
      here[i] = from + i <= t ? sharedLoad(&mine.pairs[t][from + i]) : 0;
    CP_UNROLL
    for (int i = 0; i < atOnce; ++i) {
      if (from + i <= t)
        sharedStore(&mine.pairs[t][from + i], before);
      before += here[i];
    }
  }
}

/// sums += weights rows, or weights^T rows, of columns from `from` on.
template <typename Kernel>
template <bool Transposed, typename Rows, int Columns>
CP_DEVICE void
SsdGradTilesThread<Kernel>::addTokens(const Weights &weights, const Rows &rows,
                                      Spoilt spoilt, int from,
                                      float (&sums)[Columns][4]) const {
  // A product of all warps has rows as they are.
  if constexpr (isOfWarpgroup)
    if (!isCareful) {
      addTokensAsGroup<Transposed>(weights, rows, sums);
      return;
    }
  addTokensOneByOne<Transposed>(weights, rows, from, sums);
  if (isCareful) {
    keepBranch();
    addSpoilt<Transposed>(weights, rows, spoilt, from, sums);
  }
}

template <typename Kernel>
template <bool Transposed, typename Rows, int Columns>
CP_DEVICE void
SsdGradTilesThread<Kernel>::addTokensOneByOne(const Weights &weights,
                                              const Rows &rows, int from,
                                              float (&sums)[Columns][4]) const {
  Fragments<Weights> ofWeights;
  Fragments<Rows> ofRows;
  CP_NO_UNROLL
  for (int row = Transposed ? top() : 0;
       row < (Transposed ? tokens : top() + 1); row += band) {
    uint32_t a[4];
    if (Transposed)
      ofWeights.loadATransposed(a, weights, row, top());
    else
      ofWeights.loadA(a, weights, top(), row);
    CP_UNROLL
    for (int j = 0; j < Columns / 2; ++j) {
      uint32_t b[4];
      ofRows.loadB(b, rows, row, from + j * band);
      if (isCareful) {
        keepBranch();
        CP_UNROLL
        for (int k = 0; k < 4; ++k)
          b[k] = finiteOf(b[k]);
      }
      multiply(sums[2 * j], a, b[0], b[1]);
      multiply(sums[2 * j + 1], a, b[2], b[3]);
    }
  }
}

/// What addTokens has left out.
template <typename Kernel>
template <bool Transposed, typename Rows, int Columns>
CP_DEVICE void
SsdGradTilesThread<Kernel>::addSpoilt(const Weights &weights, const Rows &rows,
                                      Spoilt spoilt, int from,
                                      float (&sums)[Columns][4]) const {
  auto numberAt = [](const auto &tile, int row, int column) {
    BFloat16 number;
    number.bits = sharedLoad(tile.elements +
                             std::decay_t<decltype(tile)>::offset(row, column));
    return widened(number);
  };
  CP_NO_UNROLL
  for (int row = 0; row < tokens; ++row) {
    if (!sharedLoad(&mine.spoilt[spoilt][row]))
      continue;
    CP_UNROLL
    for (int i = 0; i < 2; ++i) {
      int own = rowOf(i), t = Transposed ? row : own,
          s = Transposed ? own : row;
      if (!mine.steps.isRead(t, s))
        continue;
      float weight = numberAt(weights, t, s);
      CP_UNROLL
      for (int j = 0; j < Columns; ++j)
        CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        float number = numberAt(rows, row, from + columnOf(j) + k);
        if (!(0 * number == 0))
          sums[j][2 * i + k] += weight * number;
      }
    }
  }
}

/// sums += rows state, of columns from `from` on.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::addStates(const TileOf64 &rows,
                                                     int from,
                                                     SumsOfN &sums) const {
  if constexpr (isOfWarpgroup) {
    addStatesAsGroup(rows, sums);
  } else {
    Fragments<TileOf64> ofRows;
    Fragments<StateTile> ofState;
    CP_NO_UNROLL
    for (int k = 0; k < width; k += band) {
      uint32_t a[4];
      ofRows.loadA(a, rows, top(), k);
      CP_UNROLL
      for (int j = 0; j < mostColumns / band; ++j) {
        uint32_t b[4];
        ofState.loadB(b, mine.state, k, from + j * band);
        multiply(sums[2 * j], a, b[0], b[1]);
        multiply(sums[2 * j + 1], a, b[2], b[3]);
      }
    }
  }
}

/// later = B state^T.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::formLater(Sums<width> &later) const {
  if constexpr (isOfWarpgroup) {
    formLaterAsGroup(later);
  } else {
    Fragments<TileOfN> ofN;
    Fragments<StateTile> ofState;
    CP_UNROLL_TWICE
    for (int k = 0; k < N; k += band) {
      uint32_t a[4];
      ofN.loadA(a, mine.B, top(), k);
      CP_UNROLL
      for (int j = 0; j < width / band; ++j) {
        uint32_t b[4];
        ofState.loadBTransposed(b, mine.state, j * band, k);
        multiply(later[2 * j], a, b[0], b[1]);
        multiply(later[2 * j + 1], a, b[2], b[3]);
      }
    }
  }
}

/// dx, and what it says of the steps.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::passInputs() const {
  Sums<width> within = {}, later = {};
  formLater(later);
  addTokens<true>(mine.weightedK, mine.dy, OfDy, 0, within);
  storeInputs(within, later);
}

template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::storeInputs(const Sums<width> &within,
                                        const Sums<width> &later) const {
  Pairs<TileOf64> pairs;
  // On their way together, in front of what is stored.
  float skips[width / 8][2] = {};
  if (work.D.data) {
    CP_UNROLL
    for (int j = 0; j < width / 8; ++j)
      CP_UNROLL
    for (int k = 0; k < 2; ++k)
      skips[j][k] =
          widened(*at(work.D, head(),
                      least(kernel.slice.first + columnOf(j) + k, work.p - 1)));
  }
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    int row = rowOf(i);
    bool isAtEnd = SsdGradSteps::has(mine.steps.atEnd, row);
    float toEnd = sharedLoad(&mine.steps.toEnd[row]);
    float delta = sharedLoad(&mine.steps.deltas[row]);
    float direct = 0, ofEnd = 0;
    CP_UNROLL
    for (int j = 0; j < width / 8; ++j) {
      uint32_t x = pairs.load(mine.x, top() + i * 8, j * 8);
      uint32_t dy = pairs.load(mine.dy, top() + i * 8, j * 8);
      float dx[2];
      CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        float ofLater = isAtEnd ? toEnd * later[j][2 * i + k] : 0;
        float sum = within[j][2 * i + k] + ofLater;
        float input = k ? highOf(x) : lowOf(x);
        direct += input * sum;
        ofEnd += delta * input * ofLater;
        float ofSkip = skips[j][k] * (k ? highOf(dy) : lowOf(dy));
        dx[k] = delta * sum + (work.D.data ? ofSkip : 0);
      }
      storeInput(row, columnOf(j), dx);
    }
    direct = rowSum(direct);
    ofEnd = rowSum(ofEnd);
    if (lane() % 4 == 0) {
      sharedStore(&mine.direct[row], direct);
      sharedStore(&mine.toEnd[row], ofEnd);
    }
  }
}

/// Of a token two channels, where they are there.
template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::storeInput(int row, int column,
                                       const float (&dx)[2]) const {
  const ChannelSlice &slice = kernel.slice;
  if (first() + row >= work.l || column >= slice.width)
    return;
  BFloat16 *to = at(work.dx, b(), first() + row, head(), slice.first + column);
  if (kernel.isFastDx) {
    *reinterpret_cast<uint32_t *>(to) = packed(dx[0], dx[1]);
    return;
  }
  to[0] = narrowed<BFloat16>(dx[0]);
  if (column + 1 < slice.width)
    to[work.dx.strides[3]] = narrowed<BFloat16>(dx[1]);
}

template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::passB() const {
  CP_NO_UNROLL
  for (int from = 0; from < N; from += mostColumns) {
    SumsOfN sums = {};
    addStates(mine.x, from, sums);
    CP_UNROLL
    for (int i = 0; i < 2; ++i) {
      int row = rowOf(i);
      bool isAtEnd = SsdGradSteps::has(mine.steps.atEnd, row);
      float factor = sharedLoad(&mine.steps.toEnd[row]) *
                     sharedLoad(&mine.steps.deltas[row]);
      CP_UNROLL
      for (int j = 0; j < mostColumns / 8; ++j)
        CP_UNROLL
      for (int k = 2 * i; k < 2 * i + 2; ++k)
        sums[j][k] = isAtEnd ? factor * sums[j][k] : 0;
    }
    addTokens<true>(mine.weightedP, mine.C, OfC, from, sums);
    store(work.dB, from, sums);
  }
}

template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::passC() const {
  Pairs<TileOfN> pairs;
  float reads[2] = {};
  CP_NO_UNROLL
  for (int from = 0; from < N; from += mostColumns) {
    SumsOfN sums = {};
    addStates(mine.dy, from, sums);
    CP_UNROLL
    for (int i = 0; i < 2; ++i) {
      int row = rowOf(i);
      bool isAtFront = SsdGradSteps::has(mine.steps.atFront, row);
      float fromFront = sharedLoad(&mine.steps.fromFront[row]);
      CP_UNROLL
      for (int j = 0; j < mostColumns / 8; ++j) {
        uint32_t c = pairs.load(mine.C, top() + i * 8, from + j * 8);
        CP_UNROLL
        for (int k = 0; k < 2; ++k) {
          float &sum = sums[j][2 * i + k];
          sum = isAtFront ? fromFront * sum : 0;
          reads[i] += (k ? highOf(c) : lowOf(c)) * sum;
        }
      }
    }
    addTokens<false>(mine.weightedP, mine.B, OfB, from, sums);
    store(work.dC, from, sums);
  }
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    float read = rowSum(reads[i]);
    if (lane() % 4 == 0)
      sharedStore(&mine.fromFront[rowOf(i)], read);
  }
}

template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::store(float *to, int from,
                                                 const SumsOfN &sums) const {
  struct alignas(8) Two {
    float first, second;
  };
  // Then both are there or neither is, and every row starts at one.
  bool arePairs = work.n % 2 == 0, adds = kernel.slice.number > 0;
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    int64_t t = first() + rowOf(i);
    if (t >= work.l)
      continue;
    float *row = to + ((b() * work.l + t) * work.h + head()) * work.n;
    CP_UNROLL
    for (int j = 0; j < mostColumns / 8; ++j) {
      int column = from + columnOf(j);
      Two two = {sums[j][2 * i], sums[j][2 * i + 1]};
      if (arePairs && column < work.n) {
        auto *at = reinterpret_cast<Two *>(row + column);
        Two before = adds ? *at : Two{0, 0};
        *at = {before.first + two.first, before.second + two.second};
      } else if (column < work.n) {
        row[column] = (adds ? row[column] : 0) + two.first;
        if (column + 1 < work.n)
          row[column + 1] = (adds ? row[column + 1] : 0) + two.second;
      }
    }
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADTILES_H
