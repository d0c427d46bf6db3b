//===- Ssd.cu - The scan and its halves on a card -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "SsdFold.h"
#include "SsdLaunch.h"
#include "SsdSteps.h"
#include "SsdTiles.h"
#include "SsdWalk.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

namespace {

/// What decides how a call runs.
template <typename T> class SsdLaunch {
public:
  using Acc = AccumulatorOf<T>;

  SsdLaunch(const char *op, void *stream)
      : op(op), stream(stream), memory(stream) {}

  /// Everything of a scan but its results and its state in front.
  template <typename Args> SsdWork<T> workOf(const Args &args) {
    SsdWork<T> work = {};
    static_cast<SsdSizes &>(work) = args;
    work.x = args.x;
    work.B = args.B;
    work.places = args.places;
    work.segment = args.l ? args.l : 1;
    work.segments = 1;
    return work;
  }

  /// The first time with what tiles are given of the steps, which later calls
  /// with the same segments take over.
  const char *run(SsdWork<T> &work) {
    if (!work.b || !work.h)
      return nullptr;
    if (!work.p && !work.formed.data)
      return nullptr;
    if (!hasTiles(work))
      return runPlain(work);
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (work.step.dtMax < 0)
        return fail("%s: dt_max = %g is below 0, which cards take in f32 and "
                    "f64 only",
                    op, work.step.dtMax);
      if (!work.sums)
        CP_RETURN_IF(formSteps(work));
      return work.p ? runTiles(work) : nullptr;
    }
    return nullptr;
  }
  const char *outOfDeviceMemory() const {
    return fail("%s: the device has no memory left for the states of a scan; "
                "free some, or split the batch",
                op);
  }
  template <typename Kernel>
  const char *start(const Kernel &kernel, Grid grid) {
    return launch(op, kernel, grid, stream);
  }
  const char *fold(const SsdFold<T> &kernel) {
    const SsdSizes &s = kernel.sizes;
    // One element of none, for the decays of states that have none.
    int64_t elements = std::max<int64_t>(s.p * s.n, 1);
    return start(kernel, {ceilDiv(elements, 128), s.h, s.b});
  }
  Acc *states(const SsdSizes &s, int64_t segments) {
    return static_cast<Acc *>(memory.allocate(
        size_t(s.b * segments * s.h * s.p * s.n) * sizeof(Acc)));
  }
  Acc *decays(const SsdSizes &s, int64_t segments) {
    return static_cast<Acc *>(
        memory.allocate(size_t(s.b * segments * s.h) * sizeof(Acc)));
  }

  /// Tokens of a segment.
  int64_t segmentTokens(const SsdSizes &s) const {
    if (!s.b || !s.h || !s.p)
      return s.l ? s.l : 1;
    int64_t segments = hasTiles(s) ? shapeOf(s).segments : segmentsOf(s);
    return std::max<int64_t>(
        ceilDiv(ceilDiv(s.l, segments), tileTokens) * tileTokens, tileTokens);
  }

private:
  template <int N, int Heads>
  using Alone = SsdTiles<N, Heads, true, SsdForm::Alone>;
  /// Each card has room for tiles of 128 states.
  static bool hasTiles(const SsdSizes &s) {
    if (!std::is_same_v<T, BFloat16> || !s.n)
      return false;
    return s.n <= 128 || (s.n <= 256 && hasRoom<Alone<256, 1>>());
  }
  const char *formSteps(SsdWork<BFloat16> &work) {
    int64_t count = work.b * work.h * work.l;
    auto *steps = static_cast<float *>(
        memory.allocate(size_t(2 * count) * sizeof(float)));
    if (!steps)
      return outOfDeviceMemory();
    work.sums = steps;
    work.inputs = steps + count;
    int64_t chunks = std::max<int64_t>(
        ceilDiv(std::min(work.segment, work.l), SsdSteps::chunk), 1);
    CP_RETURN_IF(start(
        SsdSteps{work, int(chunks), steps, steps + count},
        {ceilDiv(work.h, SsdSteps::heads), work.segments * chunks, work.b}));
    return work.decays ? start(SsdTileDecays{work},
                               {ceilDiv(work.h, 4), work.segments, work.b})
                       : nullptr;
  }

  /// How many heads share a block, and how many segments fill the card with
  /// such blocks, each of which should have at least four tiles, which pays for
  /// its part in the fold.
  struct Shape {
    int64_t heads, segments;
  };
  /// Blocks of so many heads that run at once. Clusters do not fit everywhere.
  template <int N> static int64_t roomFor(const SsdSizes &s, int64_t heads) {
    if constexpr (N <= 128) {
      using Sharing = SsdTiles<N, 1, true, SsdForm::Shared>;
      int cluster = heads == 1 ? clusterOf<Sharing>(s) : 1;
      if (cluster > 1)
        return cluster * activeClusters<Sharing>(cluster);
    }
    return multiprocessors() * Alone<N, 1>::residents(int(heads));
  }
  static Shape shapeOf(const SsdSizes &s) {
    return s.n <= 128 ? shapeOf<128>(s) : shapeOf<256>(s);
  }
  template <int N> static Shape shapeOf(const SsdSizes &s) {
    // What a multiprocessor does with blocks of so many heads, beside the best.
    constexpr double rates[] = {0.8, 0.9, 1};
    const bool fits[] = {true, hasRoom<Alone<N, 2>>(), hasRoom<Alone<N, 3>>()};
    int64_t perGroup = s.h / s.g * ceilDiv(s.p, 64), all = multiprocessors();
    Shape best = {1, 1};
    double most = 0;
    for (int64_t heads = 1; heads <= std::min<int64_t>(perGroup, mostHeads<N>);
         ++heads) {
      if (!fits[heads - 1])
        break;
      int64_t room = roomFor<N>(s, heads);
      int64_t blocks = s.b * s.g * ceilDiv(perGroup, heads);
      int64_t segments = std::min(std::max<int64_t>(room / blocks, 1),
                                  std::max<int64_t>(ceilDiv(s.l, 256), 1));
      int64_t rounds = ceilDiv(blocks * segments, room);
      double used = double(s.b * s.g * perGroup * segments) /
                    double(rounds * all * heads);
      if (used * rates[heads - 1] <= most)
        continue;
      most = used * rates[heads - 1];
      best = {heads, segments};
    }
    return best;
  }

  /// Of a plain scan: as many as give each multiprocessor two blocks, of four
  /// tiles at least.
  static int64_t segmentsOf(const SsdSizes &s) {
    int64_t blocks = s.b * s.h * ceilDiv(s.p, panelWidth);
    int64_t wanted = ceilDiv(2 * multiprocessors(), blocks);
    return std::min(wanted, std::max<int64_t>(s.l / (4 * panelTokens), 1));
  }

  template <int N> const char *runWalk(const SsdWork<T> &work) {
    using Kernel = SsdWalk<T, N>;
    if (!hasRoom<Kernel>())
      return fail("%s: n = %lld is more than this card has shared memory for; "
                  "use a processor's kernel",
                  op, (long long)work.n);
    // Where there are no channels there are decays.
    int64_t panels = std::max<int64_t>(ceilDiv(work.p, panelWidth), 1);
    return start(Kernel{work, panels},
                 {panels * work.segments, work.h, work.b});
  }
  const char *runPlain(const SsdWork<T> &work) {
    if (work.n <= 64)
      return runWalk<64>(work);
    if (work.n <= 128)
      return runWalk<128>(work);
    if (work.n <= 256)
      return runWalk<256>(work);
    if (work.n <= 512)
      return runWalk<512>(work);
    return fail("%s: n = %lld is more than the 512 that kernels for cards "
                "take; use a processor's",
                op, (long long)work.n);
  }

  const char *runTiles(const SsdWork<T> &work) {
    return work.n <= 64    ? runTilesOf<64>(work)
           : work.n <= 128 ? runTilesOf<128>(work)
                           : runTilesOf<256>(work);
  }
  template <int N> const char *runTilesOf(const SsdWork<T> &work) {
    int64_t heads = shapeOf(work).heads;
    if constexpr (mostHeads<N> > 2)
      if (heads > 2)
        return runTilesOf<N, 3>(work);
    return heads > 1 ? runTilesOf<N, 2>(work) : runTilesOf<N, 1>(work);
  }
  template <int N, int Heads> const char *runTilesOf(const SsdWork<T> &work) {
    return work.after.data ? runTilesOf<N, Heads, false>(work)
                           : runTilesOf<N, Heads, true>(work);
  }
  template <int N, int Heads, bool Outputs>
  const char *runTilesOf(const SsdWork<T> &work) {
    if constexpr (Heads == 1 && N <= 128) {
      using Group = SsdTiles<N, 1, Outputs, SsdForm::Warpgroup>;
      Group group = {};
      if (hasWarpgroups<Group>() && hasWholeRows<Group>(work) &&
          describeBoxes(group, work))
        return startTiles(group, work);
      SsdTiles<N, 1, Outputs, SsdForm::Shared> shared = {};
      shared.cluster = clusterOf<decltype(shared)>(work);
      if (shared.cluster > 1 && hasWholeRows<decltype(shared)>(work))
        return startTiles(shared, work);
    }
    SsdTiles<N, Heads, Outputs, SsdForm::Alone> alone = {};
    alone.cluster = 1;
    return startTiles(alone, work);
  }
  /// Whether B and C are as blocks copy them to each other.
  template <typename Kernel> static bool hasWholeRows(const SsdWork<T> &work) {
    return work.n == Kernel::states && isVectorised(work.B, work.n) &&
           (!Kernel::hasOutputs || isVectorised(work.C, work.n));
  }
  /// How many blocks of one head each share B and C.
  template <typename Kernel> static int clusterOf(const SsdSizes &sizes) {
    int64_t blocks = sizes.h / sizes.g * ceilDiv(sizes.p, 64);
    int cluster = 8;
    while (cluster > 1 &&
           (blocks % cluster || !activeClusters<Kernel>(cluster)))
      cluster /= 2;
    return cluster;
  }
  /// Each block's part of a panel; false where the driver refuses.
  template <typename Kernel>
  static bool describeBoxes(Kernel &kernel, const SsdWork<T> &work) {
    kernel.cluster = clusterOf<Kernel>(work);
    int rows = Kernel::tokens / kernel.cluster;
    auto describe = [&](TensorMap &map, const View<const T, 4> &of) {
      const int64_t *strides = of.strides;
      return describeTensor(map, of.data, {work.n, work.l, work.g, work.b},
                            {2 * strides[1], 2 * strides[2], 2 * strides[0]},
                            rows);
    };
    return describe(kernel.mapOfB, work.B) &&
           (!Kernel::hasOutputs || describe(kernel.mapOfC, work.C));
  }
  template <typename Kernel>
  const char *startTiles(Kernel &kernel, const SsdWork<T> &work) {
    kernel.work = work;
    kernel.rowsOfBlock = Kernel::tokens / kernel.cluster;
    kernel.slices = int(ceilDiv(work.p, 64));
    kernel.blocksPerGroup =
        int(ceilDiv(work.h / work.g * kernel.slices, Kernel::heads));
    kernel.fastX = isVectorised(work.x, work.p);
    kernel.fastB = isVectorised(work.B, work.n);
    kernel.fastC = isVectorised(work.C, work.n);
    kernel.fastY = isPaired(work.y, work.p);
    bool isOfAll = Kernel::hasOutputs || !work.summarised;
    return start(kernel, {work.g * kernel.blocksPerGroup,
                          isOfAll ? work.segments : work.summarised, work.b,
                          kernel.cluster});
  }

  const char *op;
  void *stream;
  Workspace memory;
};

} // namespace

template <typename T> const char *ssd(const Call &call, void *stream) {
  SsdArgs<T> args;
  CP_RETURN_IF(decode(onDevice(call), args));
  SsdLaunch<T> run("ssd", stream);
  SsdWork<T> work = run.workOf(args);
  work.step = args.step;
  work.aLog = args.step.aLog;
  work.segment = run.segmentTokens(args);
  work.segments = std::max<int64_t>(ceilDiv(args.l, work.segment), 1);
  SsdFold<T> fold = {};
  fold.sizes = args;
  fold.segments = work.segments;
  fold.every = 1;
  fold.initial = args.initial;
  if (work.segments > 1) {
    AccumulatorOf<T> *states = run.states(args, work.segments);
    work.decays = run.decays(args, work.segments);
    if (!states || !work.decays)
      return run.outOfDeviceMemory();
    work.after = {states,
                  {work.segments * args.h * args.p * args.n,
                   args.h * args.p * args.n, args.p * args.n, args.n, 1}};
    // Of the last one nobody asks for the state from zeros.
    work.summarised = work.segments - 1;
    CP_RETURN_IF(run.run(work));
    fold.states = readOnly(work.after);
    fold.decays = work.decays;
    work.after = {};
    work.decays = nullptr;
  }
  if (work.segments > 1 || args.initial.data) {
    fold.before = run.states(args, work.segments);
    if (!fold.before)
      return run.outOfDeviceMemory();
    CP_RETURN_IF(run.fold(fold));
    work.before = fold.before;
  }
  work.C = args.C;
  work.D = args.D;
  work.y = args.y;
  work.finalState = args.finalState;
  return run.run(work);
}

template <typename T> const char *ssdStates(const Call &call, void *stream) {
  SsdStatesArgs<T> args;
  CP_RETURN_IF(decode(onDevice(call), args));
  SsdLaunch<T> run("ssd_states", stream);
  SsdWork<T> work = run.workOf(args);
  work.step = args.step;
  work.aLog = args.step.aLog;
  work.segment = args.chunk;
  work.segments = args.chunks();
  work.decays = run.decays(args, std::max<int64_t>(work.segments, 1));
  if (!work.decays)
    return run.outOfDeviceMemory();
  work.after = args.chunkStates;
  work.formed = args.delta;
  CP_RETURN_IF(run.run(work));
  SsdFold<T> fold = {};
  fold.sizes = args;
  fold.segments = work.segments;
  fold.every = 1;
  fold.states = readOnly(args.chunkStates);
  fold.decays = work.decays;
  fold.whole = args.state;
  fold.decayOfAll = args.decay;
  return run.fold(fold);
}

template <typename T> const char *ssdScan(const Call &call, void *stream) {
  SsdScanArgs<T> args;
  CP_RETURN_IF(decode(onDevice(call), args));
  SsdLaunch<T> run("ssd_scan", stream);
  SsdWork<T> work = run.workOf(args);
  work.aLog = args.aLog;
  work.delta = args.delta;
  // Whole chunks are a segment, as many as are wanted.
  int64_t every =
      std::min<int64_t>(ceilDiv(run.segmentTokens(args), args.chunk),
                        std::max<int64_t>(args.chunks(), 1));
  SsdFold<T> fold = {};
  fold.sizes = args;
  fold.segments = std::max<int64_t>(args.chunks(), 1);
  fold.every = every;
  fold.initialSum = args.initial;
  fold.prefixState = args.prefixState;
  fold.prefixDecay = args.prefixDecay;
  work.segments = ceilDiv(fold.segments, every);
  if (work.segments > 1) {
    SsdWork<T> chunks = work;
    chunks.segment = args.chunk;
    chunks.segments = fold.segments;
    chunks.decays = run.decays(args, fold.segments);
    if (!chunks.decays)
      return run.outOfDeviceMemory();
    CP_RETURN_IF(run.start(SsdDecays<T>{chunks},
                           {ceilDiv(args.h, 128), chunks.segments, args.b}));
    fold.states = args.chunkStates;
    fold.decays = chunks.decays;
    work.segment = args.chunk * every;
  }
  fold.before = run.states(args, work.segments);
  if (!fold.before)
    return run.outOfDeviceMemory();
  CP_RETURN_IF(run.fold(fold));
  work.before = fold.before;
  work.C = args.C;
  work.D = args.D;
  work.y = args.y;
  work.finalSum = args.finalState;
  return run.run(work);
}

#define CP_INSTANTIATE(T)                                                      \
  template const char *ssd<T>(const Call &, void *);                           \
  template const char *ssdStates<T>(const Call &, void *);                     \
  template const char *ssdScan<T>(const Call &, void *);
CP_INSTANTIATE(float)
CP_INSTANTIATE(double)
CP_INSTANTIATE(BFloat16)

} // namespace cp::kernels::cuda
