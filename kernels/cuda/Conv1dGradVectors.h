//===- Conv1dGradVectors.h - A convolution's cotangents ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_CONV1DGRADVECTORS_H
#define CP_KERNELS_CUDA_CONV1DGRADVECTORS_H

#include "Launch.h"
#include "OpArguments.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

/// Four numbers of a row, which a multiple of as many bytes holds.
template <typename T> struct alignas(4 * sizeof(T)) Quad {
  uint32_t words[sizeof(T)];

  CP_DEVICE static Quad load(const T *from) {
    return *reinterpret_cast<const Quad *>(from);
  }
  CP_DEVICE static Quad none() {
    Quad zeros;
    CP_UNROLL
    for (uint32_t &word : zeros.words)
      word = 0;
    return zeros;
  }
  CP_DEVICE void widen(float (&to)[4]) const {
    CP_UNROLL
    for (int i = 0; i < 4; ++i)
      if constexpr (sizeof(T) == 2)
        to[i] = i % 2 ? highOf(words[i / 2]) : lowOf(words[i / 2]);
      else
        to[i] = floatOf(words[i]);
  }
  CP_DEVICE static void store(T *to, const float (&from)[4]) {
    Quad quad;
    CP_UNROLL
    for (int i = 0; i < int(sizeof(T)); ++i)
      if constexpr (sizeof(T) == 2)
        quad.words[i] = packed(from[2 * i], from[2 * i + 1]);
      else
        quad.words[i] = bitsOf(from[i]);
    *reinterpret_cast<Quad *>(to) = quad;
  }
};

/// A window of four rows, four channels and 32 rows a thread: one pass over x
/// and dy, in which the last rows and cotangents of sums are in registers.
/// Those of three rows of the next thread are made again, for dx.
template <typename T> struct Conv1dGradVectors {
  static constexpr int threads = 128, blocks = 3;
  static constexpr int width = 4, window = 4, rows = 32;
  static constexpr int warps = threads / warpSize;
  struct Shared {
    /// Of each warp, for each lane, what goes to the weight's rows and to the
    /// bias of each of its channels.
    float sums[warps][window + 1][width][warpSize];
  };
  using Row = float[width];

  Conv1dGradArgs<T> args;
  /// Of each block its part of the cotangents of the weight, [c, w], and behind
  /// these of the bias, [c].
  float *parts;

  CP_DEVICE void operator()() const {
    int64_t c = (int64_t(blockX()) * warpSize + lane()) * width;
    int64_t first = (int64_t(blockY()) * warps + warp()) * rows;
    Strip strip(*this, c, first);
    if (c < args.c && first < args.l)
      strip.run();
    strip.storeSums();
    barrier();
    int64_t blocks = (args.l + warps * rows - 1) / (warps * rows);
    float *part =
        parts + (blockZ() * blocks + blockY()) * args.c * (window + 1);
    CP_NO_UNROLL
    for (int i = thread(); i < width * warpSize; i += threads) {
      int64_t channel = int64_t(blockX()) * width * warpSize + i;
      if (channel >= args.c)
        continue;
      CP_UNROLL
      for (int row = 0; row <= window; ++row) {
        float sum = 0;
        CP_UNROLL
        for (int from = 0; from < warps; ++from)
          sum += sharedLoad(
              &shared<Shared>().sums[from][row][i % width][i / width]);
        part[row < window ? channel * window + row
                          : args.c * window + channel] = sum;
      }
    }
  }

private:
  /// Rows are numbered from the strip's first one on; modulo four that is where
  /// a row stands in what is kept.
  class Strip {
  public:
    CP_DEVICE Strip(const Conv1dGradVectors &kernel, int64_t c, int64_t first)
        : args(kernel.args), c(c), b(blockZ()), first(first),
          count(int(least(rows, args.l - first))),
          there(int(least(count + window - 1, args.l - first))) {}

    CP_DEVICE void run() {
      nextX = at(args.x, b, first, c);
      nextDy = at(args.dy, b, first, c);
      nextDx = at(args.dx, b, first, c);
      CP_UNROLL
      for (int i = 0; i < width; ++i) {
        bias[i] = args.bias.data ? widened(*at(args.bias, c + i)) : 0;
        CP_UNROLL
        for (int k = 0; k < window; ++k)
          weight[k][i] = widened(*at(args.weight, c + i, window - 1 - k));
      }
      CP_UNROLL
      for (int i = 1; i < window; ++i)
        inFront(first + i - window).widen(x[i]);
      // Four rows are on their way.
      Quad<T> xs[window], dys[window];
      CP_UNROLL
      for (int i = 0; i < window; ++i)
        load(i, xs[i], dys[i]);
      CP_NO_UNROLL
      for (int t = 0; t < count + window - 1; t += window) {
        CP_UNROLL
        for (int i = 0; i < window; ++i) {
          xs[i].widen(x[i]);
          dys[i].widen(ds[i]);
          load(t + i + window, xs[i], dys[i]);
          passRow(t + i, i);
        }
      }
    }

    CP_DEVICE void storeSums() const {
      auto &sums = shared<Shared>().sums[warp()];
      CP_UNROLL
      for (int i = 0; i < width; ++i) {
        CP_UNROLL
        for (int back = 0; back < window; ++back)
          sharedStore(&sums[window - 1 - back][i][lane()], dWeight[back][i]);
        sharedStore(&sums[window][i][lane()], dBias[i]);
      }
    }

  private:
    CP_DEVICE Quad<T> inFront(int64_t t) const {
      if (t >= 0)
        return Quad<T>::load(at(args.x, b, t, c));
      return args.initial.data
                 ? Quad<T>::load(at(args.initial, b, t + window - 1, c))
                 : Quad<T>::none();
    }
    /// The next rows, of which t is the number.
    CP_DEVICE void load(int t, Quad<T> &ofX, Quad<T> &ofDy) {
      ofX = t < there ? Quad<T>::load(nextX) : Quad<T>::none();
      ofDy = t < there ? Quad<T>::load(nextDy) : Quad<T>::none();
      nextX += args.x.strides[1];
      nextDy += args.dy.strides[1];
    }
    /// How many rows in front of itself row t reads; -1 where there is no
    /// token.
    CP_DEVICE int reachOf(int t) const {
      if (t >= there)
        return -1;
      return args.places.data
                 ? int(least(*at(args.places, b, first + t), window - 1))
                 : window - 1;
    }

    /// Row t, of which x and dy have come, and then dx of the row that it is
    /// the last to read.
    CP_DEVICE void passRow(int t, int slot) {
      reach[slot] = reachOf(t);
      Row sum;
      CP_UNROLL
      for (int i = 0; i < width; ++i)
        sum[i] = bias[i];
      // Of another sequence not even 0 times a NaN is added.
      CP_UNROLL
      for (int back = window - 1; back >= 0; --back)
        if (back <= reach[slot])
          CP_UNROLL
      for (int i = 0; i < width; ++i)
        sum[i] += weight[back][i] * x[(slot - back + window) % window][i];
      CP_UNROLL
      for (int i = 0; i < width; ++i) {
        if (args.silu)
          ds[slot][i] *= siluSlopeOf(sum[i]);
        ds[slot][i] = reach[slot] < 0 ? 0 : ds[slot][i];
      }
      if (t < count)
        addToWeight(slot);
      int read = t - (window - 1);
      if (read >= 0 && read < count) {
        storeInput(nextDx, slot);
        nextDx += args.dx.strides[1];
      }
      if (read < 0 && first == 0)
        storeInput(at(args.dinitial, b, t, c), slot);
    }
    CP_DEVICE void addToWeight(int slot) {
      CP_UNROLL
      for (int i = 0; i < width; ++i)
        dBias[i] += ds[slot][i];
      CP_UNROLL
      for (int back = 0; back < window; ++back)
        if (back <= reach[slot])
          CP_UNROLL
      for (int i = 0; i < width; ++i)
        dWeight[back][i] += ds[slot][i] * x[(slot - back + window) % window][i];
    }
    CP_DEVICE void storeInput(T *to, int slot) const {
      Row dx = {};
      CP_UNROLL
      for (int back = 0; back < window; ++back) {
        int from = (slot + 1 + back) % window;
        if (back <= reach[from])
          CP_UNROLL
        for (int i = 0; i < width; ++i)
          dx[i] += weight[back][i] * ds[from][i];
      }
      Quad<T>::store(to, dx);
    }
    const Conv1dGradArgs<T> &args;
    int64_t c, b, first;
    /// The strip's rows, and with them those of the next one that are read.
    int count, there;
    const T *nextX, *nextDy;
    T *nextDx;
    /// By how many rows a row of the window is in front.
    Row weight[window], dWeight[window] = {};
    Row bias, dBias = {};
    Row x[window], ds[window] = {};
    int reach[window] = {-1, -1, -1, -1};
  };
};

/// Whether four channels of a row can be read at once.
template <typename T> bool isInQuads(const View<T, 3> &view) {
  return reinterpret_cast<uintptr_t>(view.data) % sizeof(Quad<T>) == 0 &&
         view.strides[2] == 1 && (view.strides[0] | view.strides[1]) % 4 == 0;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_CONV1DGRADVECTORS_H
