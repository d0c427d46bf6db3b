//===- SsdGrad.cu - The adjoint of the scan on a card ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "SsdFold.h"
#include "SsdGradTile.h"
#include "SsdGradTiles.h"
#include "SsdLaunch.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

namespace {

/// The launches of a call.
template <typename T> class SsdGradLaunch {
public:
  using Acc = AccumulatorOf<T>;

  template <typename Args>
  SsdGradLaunch(const char *op, const Args &args, void *stream)
      : op(op), stream(stream), memory(stream) {
    static_cast<SsdSizes &>(work) = args;
    work.step = args.step;
    work.aLog = args.step.aLog;
    work.places = args.places;
    work.dy = args.dy;
    work.C = args.C;
    work.segment = usesMatrixUnits() ? tileTokens : panelTokens;
    work.segments = ceilDiv(args.l, work.segment);
    heads = args.b * work.segments * args.h;
  }

  /// Memory for states and decays; false where there is none left.
  bool allocateStates() {
    work.decays = allocate<Acc>(heads);
    work.behind = allocate<Acc>(heads * work.p * work.n);
    return work.decays && work.behind;
  }
  template <typename U> U *allocate(int64_t count) {
    return static_cast<U *>(memory.allocate(size_t(count) * sizeof(U)));
  }

  /// Of each tile alone: what its rows and columns make.
  template <bool Back>
  const char *formStates(const View<const T, 4> &rows,
                         const View<const T, 4> &columns, Acc *states) {
    SsdWork<T> of = work;
    of.after = denseStates(work, work.segments, states);
    if constexpr (std::is_same_v<T, BFloat16>)
      if (usesMatrixUnits())
        return work.n <= 64    ? runStates<64, Back>(of, rows, columns)
               : work.n <= 128 ? runStates<128, Back>(of, rows, columns)
                               : runStates<256, Back>(of, rows, columns);
    return startTileStates<T, Back>(op, of, rows, columns, stream);
  }
  const char *foldBack(const View<const Acc, 4> &last,
                       const View<Acc, 4> &first, BFloat16 *rounded = nullptr) {
    return launch(op, SsdFoldBack<T>{work, last, first, rounded},
                  {ceilDiv(work.p * work.n, 128), work.h, work.b}, stream);
  }
  const char *outOfDeviceMemory() const {
    return fail("%s: the device has no memory left for the states of a scan; "
                "free some, or split the batch",
                op);
  }

  /// How many of a head's channels are taken one after the other.
  int64_t numSlices() const {
    return usesMatrixUnits() ? ChannelSlice::countOf(work.p) : 1;
  }
  /// Each card has room for tiles of 128 states.
  bool usesMatrixUnits() const {
    if (!std::is_same_v<T, BFloat16> || !work.p || !work.n)
      return false;
    return work.n <= 128 ||
           (work.n <= 256 && hasRoom<SsdGradTiles<256, false>>());
  }

  SsdGradWork<T> work = {};
  /// Tiles of all heads.
  int64_t heads;

protected:
  template <int N, bool Back>
  const char *runStates(const SsdWork<BFloat16> &of,
                        const View<const BFloat16, 4> &rows,
                        const View<const BFloat16, 4> &columns) {
    SsdGradStates<N, Back> kernel = {};
    kernel.work = of;
    kernel.rows = rows;
    kernel.columns = columns;
    kernel.isFastRows = isVectorised(rows, of.p);
    kernel.isFastColumns = isVectorised(columns, of.n);
    return startSlices(kernel, of);
  }
  /// A launch for each slice of channels.
  template <typename Kernel>
  const char *startSlices(Kernel &kernel, const SsdSizes &s) {
    for (int64_t slice = 0; slice < numSlices(); ++slice) {
      kernel.slice = ChannelSlice(slice, s.p);
      CP_RETURN_IF(launch(op, kernel, {work.segments, s.h, s.b}, stream));
    }
    return nullptr;
  }

  const char *op;
  void *stream;
  Workspace memory;
};

template <typename T> class SsdGradRun : SsdGradLaunch<T> {
public:
  using Acc = AccumulatorOf<T>;
  using SsdGradLaunch<T>::work;
  using SsdGradLaunch<T>::op;
  using SsdGradLaunch<T>::stream;
  using SsdGradLaunch<T>::heads;

  SsdGradRun(const SsdGradArgs<T> &args, void *stream)
      : SsdGradLaunch<T>("ssd_grad", args, stream), args(args) {
    work.x = args.x;
    work.B = args.B;
    work.D = args.D;
    work.dx = args.dx;
    work.ddt = args.ddt;
  }

  const char *run() {
    if (!allocateAll())
      return this->outOfDeviceMemory();
    CP_RETURN_IF(this->template formStates<false>(work.x, work.B, own));
    CP_RETURN_IF(this->template formStates<true>(work.dy, work.C, work.behind));
    CP_RETURN_IF(foldForward());
    CP_RETURN_IF(
        this->foldBack(args.dstate, args.dinitial, rounded(/*isBehind=*/true)));
    CP_RETURN_IF(runTiles());
    CP_RETURN_IF(roundSteps());
    CP_RETURN_IF(sumHeads(work.dB, args.dB));
    CP_RETURN_IF(sumHeads(work.dC, args.dC));
    int64_t tiles = args.b * work.segments, parts = tiles * this->numSlices();
    CP_RETURN_IF(
        sumParts(op, work.dALog, parts, args.h, args.h, args.dALog, stream));
    CP_RETURN_IF(
        sumParts(op, work.dBias, parts, args.h, args.h, args.dDtBias, stream));
    return sumParts(op, work.dD, tiles, args.h * args.p, args.h, args.p,
                    args.dD, stream);
  }

private:
  bool allocateAll() {
    int64_t states = heads * args.p * args.n, slices = this->numSlices();
    int64_t steps = args.b * args.l * args.h;
    if (!this->allocateStates())
      return false;
    own = this->template allocate<Acc>(states);
    before = this->template allocate<Acc>(states);
    work.dB = this->template allocate<Acc>(2 * steps * args.n);
    work.dC = work.dB + steps * args.n;
    work.dALog = this->template allocate<double>(2 * heads * slices);
    work.dBias = work.dALog + heads * slices;
    work.dD = this->template allocate<Acc>(heads * args.p);
    if (slices > 1)
      work.ddtSums = this->template allocate<Acc>(steps);
    return own && before && work.dB && work.dALog && work.dD &&
           (work.ddtSums || slices == 1);
  }

  const char *foldForward() {
    SsdFold<T> fold = {};
    fold.sizes = work;
    fold.segments = work.segments;
    fold.every = 1;
    // As it is, since nothing is in front of it.
    fold.prefixState = args.initial;
    fold.states = readOnly(denseStates(work, work.segments, own));
    fold.decays = work.decays;
    fold.roundedBefore = rounded(/*isBehind=*/false);
    fold.before = fold.roundedBefore ? nullptr : before;
    work.before = before;
    return launch(op, fold, {ceilDiv(work.p * work.n, 128), work.h, work.b},
                  stream);
  }

  /// The states that matrix units are given, where they are used: those in
  /// front of tiles and those behind share the memory of the former.
  BFloat16 *rounded(bool isBehind) const {
    if (!this->usesMatrixUnits())
      return nullptr;
    return reinterpret_cast<BFloat16 *>(before) +
           (isBehind ? heads * args.p * args.n : 0);
  }

  const char *runTiles() {
    if constexpr (std::is_same_v<T, BFloat16>)
      if (this->usesMatrixUnits())
        return work.n <= 64    ? runTilesOf<64>()
               : work.n <= 128 ? runTilesOf<128>()
                               : runTilesOf<256>();
    return launch(op, SsdGradTile<T>{work}, {work.segments, args.h, args.b},
                  stream);
  }
  template <int N> const char *runTilesOf() {
    if constexpr (N <= 128)
      if (hasWarpgroups<SsdGradTiles<N, true>>())
        return runTilesAs<SsdGradTiles<N, true>>();
    return runTilesAs<SsdGradTiles<N, false>>();
  }
  template <typename Kernel> const char *runTilesAs() {
    Kernel kernel = {};
    kernel.work = work;
    kernel.before = rounded(/*isBehind=*/false);
    kernel.behind = rounded(/*isBehind=*/true);
    kernel.isFastX = isVectorised(work.x, work.p);
    kernel.isFastDy = isVectorised(work.dy, work.p);
    kernel.isFastB = isVectorised(work.B, work.n);
    kernel.isFastC = isVectorised(work.C, work.n);
    kernel.isFastState = work.n % 8 == 0;
    kernel.isFastDx = isPaired(work.dx, work.p);
    return this->startSlices(kernel, args);
  }

  const char *roundSteps() {
    if (!work.ddtSums)
      return nullptr;
    using Round = RoundSteps<T>;
    return launch(op, Round{work, work.ddtSums, work.ddt},
                  {ceilDiv(args.l * args.h, int64_t(Round::threads)), args.b},
                  stream);
  }

  const char *sumHeads(const Acc *parts, const View<T, 4> &to) {
    if constexpr (sizeof(Acc) == sizeof(float))
      if (args.n % vectorWidth<Acc> == 0)
        return sumHeads<vectorWidth<Acc>>(parts, to);
    return sumHeads<1>(parts, to);
  }
  template <int Width>
  const char *sumHeads(const Acc *parts, const View<T, 4> &to) {
    using Sum = SumHeads<T, Width>;
    return launch(op, Sum{work, parts, to},
                  {ceilDiv(args.l * args.n, int64_t(Sum::threads) * Width),
                   args.g, args.b},
                  stream);
  }

  const SsdGradArgs<T> &args;
  /// What the tokens of each tile add to the state, and that in front of each.
  Acc *own = nullptr, *before = nullptr;
};

} // namespace

template <typename T> const char *ssdGrad(const Call &call, void *stream) {
  SsdGradArgs<T> args;
  CP_RETURN_IF(decode(onDevice(call), args));
  return SsdGradRun<T>(args, stream).run();
}

template <typename T>
const char *ssdGradStates(const Call &call, void *stream) {
  SsdGradStatesArgs<T> args;
  CP_RETURN_IF(decode(onDevice(call), args));
  SsdGradLaunch<T> run("ssd_grad_states", args, stream);
  if (!run.allocateStates())
    return run.outOfDeviceMemory();
  CP_RETURN_IF(
      run.template formStates<true>(run.work.dy, run.work.C, run.work.behind));
  return run.foldBack({}, args.dstate);
}

template const char *ssdGrad<float>(const Call &, void *);
template const char *ssdGrad<double>(const Call &, void *);
template const char *ssdGrad<BFloat16>(const Call &, void *);
template const char *ssdGradStates<float>(const Call &, void *);
template const char *ssdGradStates<double>(const Call &, void *);
template const char *ssdGradStates<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
