//===- fast/SsdGrad.h - Fast adjoint of the scan ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDGRAD_H
#define CP_KERNELS_CPU_FAST_SSDGRAD_H

#include "fast/SsdCotangent.h"
#include "fast/SsdGradTile.h"

namespace cp::kernels::fast {

/// The states in front of tiles and the cotangents of those behind them run
/// along the sequence, head by head; with these at hand each tile of a group is
/// by itself, and adds up what its heads share. So no sum is cut between
/// threads. There is room for the states of a window of tiles: windows go by
/// from the last to the first, each from a state in front of it that a first
/// pass has left.
template <typename Isa, typename T> class SsdGrad {
public:
  static const char *run(const Call &call) {
    SsdGradArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    SsdGrad grad(args);
    const char *message =
        grad.allocate() ? grad.compute() : outOfMemory("ssd_grad");
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;
  using States = SsdTileStates<Isa, T>;
  using Steps = SsdSteps<Isa, Acc>;
  using V = Vec<Isa, Acc>;
  /// Of all states of a window. More come from memory, fewer make threads wait
  /// for each other more often.
  static constexpr int64_t windowBytes = int64_t(1) << 25;

  explicit SsdGrad(const SsdGradArgs<T> &args)
      : args(args), tiles(args), states(args.p, args.n),
        stateSize(states.stateSize()), heads(args.b * args.h) {}

  bool allocate() {
    if (!tiles.find(args.places,
                    scratch(Slot::Panels, tiles.bytes(args.places)),
                    [&](int64_t b, const Piece &piece) { clear(b, piece); }))
      return false;
    int64_t perTile = 2 * heads * stateSize * int64_t(sizeof(Acc));
    int64_t most = windowBytes / (perTile > 0 ? perTile : 1);
    // As long as sequences are not very short, other ones need no other memory.
    int64_t usual = tiles.usual(args.places);
    window = least(least(usual, args.l), most > 1 ? most : 1);
    windows = window > 0 ? ceilDiv(tiles.most(), window) : 0;
    int64_t kept = window * heads;
    int64_t room = window > 0 ? ceilDiv(usual, window) : 0;
    room = windows > room ? windows : room;
    void *memory =
        scratch(Slot::Segments,
                2 * carved<Acc>(kept * stateSize) +
                    carved<Acc>(room * heads * stateSize) +
                    carved<Acc>(heads * stateSize) + 2 * carved<double>(kept) +
                    carved<Acc>(kept * args.p) + 2 * carved<double>(args.h));
    if (!memory)
      return false;
    Carver carver(memory);
    before = carver.take<Acc>(kept * stateSize);
    behind = carver.take<Acc>(kept * stateSize);
    starts = carver.take<Acc>(room * heads * stateSize);
    cotangents = carver.take<Acc>(heads * stateSize);
    dALogs = carver.take<double>(kept);
    dBiases = carver.take<double>(kept);
    dDs = carver.take<Acc>(kept * args.p);
    dALog = carver.take<double>(args.h);
    dBias = carver.take<double>(args.h);
    return true;
  }

  const char *compute() {
    startSums();
    if (const char *message = onHeads(1, [&](Worker &worker, int64_t head,
                                             int) { worker.findStarts(head); }))
      return message;
    for (int64_t w = windows; w-- > 0;) {
      const char *message =
          onHeads(2, [&](Worker &worker, int64_t head, int way) {
            way == 0 ? worker.advance(w, head) : worker.retreat(w, head);
          });
      if (!message)
        message = onTiles(w);
      if (message)
        return message;
      addSums(w);
    }
    finishSums();
    return nullptr;
  }

  /// Rows without tokens.
  void clear(int64_t b, const Piece &piece) const {
    for (int64_t t = piece.first; t < piece.first + piece.count; ++t) {
      for (int64_t h = 0; h < args.h; ++h) {
        for (int64_t i = 0; i < args.p; ++i)
          *args.dx.at(b, t, h, i) = T(0);
        *args.ddt.at(b, t, h) = T(0);
      }
      for (int64_t g = 0; g < args.g; ++g)
        for (int64_t j = 0; j < args.n; ++j)
          *args.dB.at(b, t, g, j) = *args.dC.at(b, t, g, j) = T(0);
    }
  }

  //===--------------------------------------------------------------------===//
  // Along the sequence
  //===--------------------------------------------------------------------===//

  /// The states of one thread's heads.
  class Worker {
  public:
    explicit Worker(const SsdGrad &grad)
        : grad(grad), args(grad.args), states(args.p, args.n) {}

    bool allocate() {
      void *memory =
          scratch(Slot::Kernel, states.bytes() + carved<Acc>(grad.stateSize));
      if (!memory)
        return false;
      Carver carver(memory);
      states.allocate(carver);
      state = carver.take<Acc>(grad.stateSize);
      return true;
    }

    /// The states in front of windows, and the cotangent behind the last one.
    void findStarts(int64_t head) {
      int64_t b = head / args.h, h = head % args.h;
      if (args.initial.data)
        states.load(stateOf(args.initial, b, h), state);
      else
        states.clear(state);
      int64_t last = (grad.windows - 1) * grad.window;
      for (int64_t i = 0; i <= last && i < grad.tiles.sizeOf(b); ++i) {
        if (i % grad.window == 0)
          copy(state, grad.startOf(i / grad.window, head));
        if (i < last)
          pass(head, i, state);
      }
      if (args.dstate.data)
        states.load(stateOf(args.dstate, b, h), grad.cotangentOf(head));
      else
        states.clear(grad.cotangentOf(head));
    }

    void advance(int64_t w, int64_t head) {
      int64_t first = w * grad.window, end = grad.endOf(w, head / args.h);
      copy(grad.startOf(w, head), state);
      for (int64_t i = first; i < end; ++i) {
        if (grad.tiles.at(head / args.h, i).starts)
          states.clear(state);
        copy(state, grad.beforeOf(i - first, head));
        if (i + 1 < end)
          pass(head, i, state);
      }
    }

    void retreat(int64_t w, int64_t head) {
      int64_t first = w * grad.window, b = head / args.h, h = head % args.h;
      Acc *cotangent = grad.cotangentOf(head);
      for (int64_t i = grad.endOf(w, b); i-- > first;) {
        const Piece &tile = grad.tiles.at(b, i);
        copy(cotangent, grad.behindOf(i - first, head));
        if (tile.starts) {
          states.clear(cotangent);
          continue;
        }
        Steps steps;
        steps.compute(args.step, b, tile.first, tile.count, h);
        states.retreat(tokens(args.dy, b, tile.first, h),
                       tokens(args.C, b, tile.first, h / args.headsPerGroup()),
                       steps, tile.count, cotangent);
      }
    }

  private:
    void pass(int64_t head, int64_t i, Acc *of) {
      int64_t b = head / args.h, h = head % args.h;
      const Piece &tile = grad.tiles.at(b, i);
      if (tile.starts)
        states.clear(of);
      Steps steps;
      steps.compute(args.step, b, tile.first, tile.count, h);
      states.advance(tokens(args.x, b, tile.first, h),
                     tokens(args.B, b, tile.first, h / args.headsPerGroup()),
                     steps, tile.count, of);
    }
    void copy(const Acc *from, Acc *to) const {
      __builtin_memcpy(to, from, size_t(grad.stateSize) * sizeof(Acc));
    }

    const SsdGrad &grad;
    const SsdGradArgs<T> &args;
    States states;
    Acc *state = nullptr;
  };

  /// Calls fn(worker, head, way) for each head and each of `ways`.
  template <typename Fn> const char *onHeads(int64_t ways, Fn fn) const {
    return share(heads * ways, args.cost() / 2,
                 [&](Items &items) -> const char * {
                   Worker worker(*this);
                   if (!worker.allocate())
                     return outOfMemory("ssd_grad");
                   for (int64_t i; items.take(i);)
                     fn(worker, i % heads, int(i / heads));
                   return nullptr;
                 });
  }

  /// The end of a window in a row of the batch.
  int64_t endOf(int64_t w, int64_t b) const {
    return least((w + 1) * window, tiles.sizeOf(b));
  }
  Acc *startOf(int64_t w, int64_t head) const {
    return starts + (w * heads + head) * stateSize;
  }
  Acc *cotangentOf(int64_t head) const { return cotangents + head * stateSize; }
  Acc *beforeOf(int64_t i, int64_t head) const {
    return before + (i * heads + head) * stateSize;
  }
  Acc *behindOf(int64_t i, int64_t head) const {
    return behind + (i * heads + head) * stateSize;
  }

  //===--------------------------------------------------------------------===//
  // Tile by tile
  //===--------------------------------------------------------------------===//

  const char *onTiles(int64_t w) const {
    int64_t each = window * args.g;
    return share(args.b * each, 3 * args.cost() / (windows > 0 ? windows : 1),
                 [&](Items &items) -> const char * {
                   SsdGradTile<Isa, T> work(args.p, args.n);
                   void *memory = scratch(Slot::Kernel, work.bytes());
                   if (!memory)
                     return outOfMemory("ssd_grad");
                   Carver carver(memory);
                   work.allocate(carver);
                   for (int64_t i; items.take(i);) {
                     int64_t b = i / each, at = i % each / args.g;
                     if (w * window + at < endOf(w, b))
                       group(work, w, b, at, i % args.g);
                   }
                   return nullptr;
                 });
  }

  /// Tile `at` of a window, and the heads of a group.
  void group(SsdGradTile<Isa, T> &work, int64_t w, int64_t b, int64_t at,
             int64_t g) const {
    const Piece &tile = tiles.at(b, w * window + at);
    int64_t first = tile.first, each = args.headsPerGroup();
    bool isFirst = tile.starts || (first == 0 && !args.initial.data);
    work.startGroup(tokens(args.B, b, first, g), tokens(args.C, b, first, g),
                    tile.count);
    for (int64_t h = g * each; h < (g + 1) * each; ++h) {
      Steps steps;
      steps.compute(args.step, b, first, tile.count, h);
      Acc slopes[tileTokens];
      steps.slopes(args.step, b, first, tile.count, h, slopes);
      int64_t head = b * args.h + h, kept = at * heads + head;
      dALogs[kept] = dBiases[kept] = 0;
      for (int64_t i = 0; i < args.p; ++i)
        dDs[kept * args.p + i] = 0;
      work.pass({tokens(args.x, b, first, h), tokens(args.dy, b, first, h),
                 skipOf(args.D, h), steps, slopes,
                 decayRate(double(Acc(*args.step.aLog.at(h)))),
                 isFirst ? nullptr : beforeOf(at, head), behindOf(at, head),
                 tokens(args.dx, b, first, h), args.ddt.at(b, first, h),
                 args.ddt.strides[1], &dALogs[kept], &dBiases[kept],
                 dDs + kept * args.p});
    }
    work.finishGroup(tokens(args.dB, b, first, g),
                     tokens(args.dC, b, first, g));
  }

  //===--------------------------------------------------------------------===//
  // Sums over all tokens
  //===--------------------------------------------------------------------===//

  void startSums() const {
    for (int64_t h = 0; h < args.h; ++h) {
      dALog[h] = dBias[h] = 0;
      for (int64_t i = 0; i < args.p; ++i)
        *args.dD.at(h, i) = Acc(0);
    }
  }

  /// In an order that depends on sizes alone.
  void addSums(int64_t w) const {
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t i = endOf(w, b) - w * window; i-- > 0;)
        for (int64_t h = 0; h < args.h; ++h) {
          int64_t kept = i * heads + b * args.h + h;
          dALog[h] += dALogs[kept];
          dBias[h] += dBiases[kept];
          for (int64_t j = 0; j < args.p; ++j)
            *args.dD.at(h, j) += dDs[kept * args.p + j];
        }
  }

  void finishSums() const {
    for (int64_t h = 0; h < args.h; ++h) {
      *args.dALog.at(h) = Acc(dALog[h]);
      *args.dDtBias.at(h) = Acc(dBias[h]);
    }
    for (int64_t head = 0; head < heads; ++head)
      states.store(cotangentOf(head),
                   stateOf(args.dinitial, head / args.h, head % args.h));
  }

  const SsdGradArgs<T> &args;
  SsdTiles<Isa> tiles;
  States states;
  int64_t stateSize, heads;
  /// Tiles of a window, and windows of the longest row.
  int64_t window = 0, windows = 0;
  /// Of a window's tiles and all heads: states in front, cotangents behind.
  Acc *before, *behind;
  /// Of all heads: states in front of each window, and cotangents that have
  /// come as far as the window at hand.
  Acc *starts, *cotangents;
  /// What each tile of a window gives, and the sums.
  double *dALogs, *dBiases;
  Acc *dDs;
  double *dALog, *dBias;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDGRAD_H
