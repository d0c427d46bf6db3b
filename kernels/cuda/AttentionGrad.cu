//===- AttentionGrad.cu - The adjoint of softmax attention ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are computed again from lse (Dao et al., "FlashAttention", 2022,
// section 3.1 and appendix B.2), once for the queries and once for the keys, so
// that each sum is one warp's, in one order.
//
//===----------------------------------------------------------------------===//

#include "AttentionMask.h"
#include "CudaKernels.h"

namespace cp::kernels::cuda {

namespace {

constexpr int warps = 4, mostChannels = 256, perLane = mostChannels / warpSize;

template <typename T> struct AttentionGradWork {
  using Acc = AccumulatorOf<T>;
  AttentionGradArgs<T> args;
  /// Of keys; null where key i stands at i.
  const int64_t *keys;
  /// [b, hq, l]: what softmax takes off the cotangent of each weight.
  Acc *inner;

  CP_DEVICE int64_t queryAt(int64_t row) const {
    return args.positions.data ? *at(args.positions, row) : row;
  }
  CP_DEVICE int64_t keyAt(int64_t row) const { return keys ? keys[row] : row; }
  CP_DEVICE Acc &innerAt(int64_t b, int64_t h, int64_t row) const {
    return inner[(b * args.hq + h) * args.l + row];
  }
  /// Whether a query sees a key; `first` is the least position it sees.
  CP_DEVICE bool sees(int64_t first, int64_t query, int64_t key) const {
    return !args.causal || (key >= first && key <= query);
  }
  CP_DEVICE int64_t headsPerGroup() const { return args.hq / args.hkv; }

  /// What softmax makes of a query and a key, and the cotangent of their
  /// product.
  struct Pair {
    Acc weight, dProduct;
  };
  /// From term(i) of the product and dTerm(i) of the weight's cotangent.
  template <typename Term, typename DTerm>
  CP_DEVICE Pair pairOf(int64_t b, int64_t h, int64_t row, Term term,
                        DTerm dTerm) const {
    Acc sum = 0, dSum = 0;
    for (int64_t i = 0; i < args.d; ++i)
      sum += term(i);
    for (int64_t i = 0; i < args.e; ++i)
      dSum += dTerm(i);
    Acc weight = exponential(sum * Acc(args.scale) - *at(args.lse, b, h, row));
    return {weight, weight * (dSum - innerAt(b, h, row)) * Acc(args.scale)};
  }
};

/// A thread a query of a head.
template <typename T> struct InnerProducts {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  AttentionGradWork<T> work;

  CP_DEVICE void operator()() const {
    const AttentionGradArgs<T> &args = work.args;
    int64_t row = int64_t(blockX()) * threads + thread();
    int64_t h = blockY(), b = blockZ();
    if (row >= args.l)
      return;
    Acc sum = args.dlse.data ? -*at(args.dlse, b, h, row) : Acc(0);
    for (int64_t i = 0; i < args.e; ++i)
      sum += Acc(widened(*at(args.dout, b, row, h, i))) *
             Acc(widened(*at(args.out, b, row, h, i)));
    work.innerAt(b, h, row) = sum;
  }
};

/// For each warp two rows of tensors, and what pairs of them with 32 others
/// give.
template <typename Acc> struct RowsOfWarps {
  Acc first[warps][mostChannels], second[warps][mostChannels];
  Acc weights[warps][warpSize], dProducts[warps][warpSize];
};

/// A row of a tensor into shared memory, by a warp.
template <typename T>
CP_DEVICE void bring(const View<const T, 4> &from, int64_t b, int64_t row,
                     int64_t head, int64_t count, AccumulatorOf<T> *to) {
  for (int64_t i = lane(); i < count; i += warpSize)
    sharedStore(&to[i], AccumulatorOf<T>(widened(*at(from, b, row, head, i))));
}

/// A warp for each query of a head: each lane takes a key of 32, and then
/// channels.
template <typename T> struct CotangentOfQueries {
  static constexpr int threads = warps * warpSize, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = RowsOfWarps<Acc>;

  AttentionGradWork<T> work;

  CP_DEVICE void operator()() const {
    const AttentionGradArgs<T> &args = work.args;
    int64_t row = int64_t(blockX()) * warps + warp();
    int64_t h = blockY(), b = blockZ();
    if (row >= args.l)
      return;
    auto &mine = shared<Shared>();
    bring(args.q, b, row, h, args.d, mine.first[warp()]);
    bring(args.dout, b, row, h, args.e, mine.second[warp()]);
    warpBarrier();
    int64_t last = work.queryAt(row);
    int64_t first = firstSeen(args.mask, args.places, b, row, last);
    Acc dq[perLane] = {};
    for (int64_t begin = 0; begin < args.s; begin += warpSize) {
      int64_t key = begin + lane();
      bool sees = key < args.s && work.sees(first, last, work.keyAt(key));
      if (uint32_t seen = vote(sees))
        addKeys(b, h, row, begin, sees, seen, dq);
    }
    CP_UNROLL
    for (int i = 0; i < perLane; ++i)
      if (int64_t channel = lane() + i * warpSize; channel < args.d)
        store(b, row, h, channel, dq[i]);
  }

private:
  CP_DEVICE void addKeys(int64_t b, int64_t h, int64_t row, int64_t begin,
                         bool sees, uint32_t seen, Acc (&dq)[perLane]) const {
    const AttentionGradArgs<T> &args = work.args;
    auto &mine = shared<Shared>();
    const Acc *q = mine.first[warp()], *dout = mine.second[warp()];
    Acc *dProducts = mine.dProducts[warp()];
    int64_t key = begin + lane(), g = h / work.headsPerGroup();
    typename AttentionGradWork<T>::Pair pair = {};
    if (sees)
      pair = work.pairOf(
          b, h, row,
          [&](int64_t i) {
            return sharedLoad(&q[i]) * Acc(widened(*at(args.k, b, key, g, i)));
          },
          [&](int64_t i) {
            return sharedLoad(&dout[i]) *
                   Acc(widened(*at(args.v, b, key, g, i)));
          });
    sharedStore(&dProducts[lane()], pair.dProduct);
    warpBarrier();
    for (; seen; seen &= seen - 1) {
      int from = firstBit(seen);
      Acc dProduct = sharedLoad(&dProducts[from]);
      CP_UNROLL
      for (int i = 0; i < perLane; ++i)
        if (int64_t channel = lane() + i * warpSize; channel < args.d)
          dq[i] +=
              dProduct * Acc(widened(*at(args.k, b, begin + from, g, channel)));
    }
    warpBarrier();
  }

  CP_DEVICE void store(int64_t b, int64_t row, int64_t h, int64_t channel,
                       Acc sum) const {
    const AttentionGradArgs<T> &args = work.args;
    if (args.dqBefore.data)
      sum += *at(args.dqBefore, b, row, h, channel);
    if (args.dqSum.data)
      *at(args.dqSum, b, row, h, channel) = sum;
    else
      *at(args.dq, b, row, h, channel) = narrowed<T>(sum);
  }
};

/// A warp for each key of a head: each lane takes a query of 32, and then
/// channels.
template <typename T> struct CotangentOfKeys {
  static constexpr int threads = warps * warpSize, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = RowsOfWarps<Acc>;

  AttentionGradWork<T> work;

  CP_DEVICE void operator()() const {
    const AttentionGradArgs<T> &args = work.args;
    int64_t key = int64_t(blockX()) * warps + warp();
    int64_t g = blockY(), b = blockZ(), each = work.headsPerGroup();
    if (key >= args.s)
      return;
    auto &mine = shared<Shared>();
    bring(args.k, b, key, g, args.d, mine.first[warp()]);
    bring(args.v, b, key, g, args.e, mine.second[warp()]);
    warpBarrier();
    Acc dk[perLane] = {}, dv[perLane] = {};
    for (int64_t h = g * each; h < (g + 1) * each; ++h)
      for (int64_t begin = 0; begin < args.l; begin += warpSize) {
        bool sees = isSeenBy(b, begin + lane(), key);
        if (uint32_t seen = vote(sees))
          addQueries(b, h, begin, sees, seen, dk, dv);
      }
    CP_UNROLL
    for (int i = 0; i < perLane; ++i) {
      int64_t channel = lane() + i * warpSize;
      if (channel < args.d)
        *at(args.dk, b, key, g, channel) =
            before(args.dkBefore, b, key, g, channel) + dk[i];
      if (channel < args.e)
        *at(args.dv, b, key, g, channel) =
            before(args.dvBefore, b, key, g, channel) + dv[i];
    }
  }

private:
  CP_DEVICE static Acc before(const View<const Acc, 4> &sums, int64_t b,
                              int64_t key, int64_t g, int64_t channel) {
    return sums.data ? *at(sums, b, key, g, channel) : Acc(0);
  }

  CP_DEVICE bool isSeenBy(int64_t b, int64_t row, int64_t key) const {
    const AttentionGradArgs<T> &args = work.args;
    if (row >= args.l || !args.causal)
      return row < args.l;
    int64_t last = work.queryAt(row);
    return work.sees(firstSeen(args.mask, args.places, b, row, last), last,
                     work.keyAt(key));
  }

  CP_DEVICE void addQueries(int64_t b, int64_t h, int64_t begin, bool sees,
                            uint32_t seen, Acc (&dk)[perLane],
                            Acc (&dv)[perLane]) const {
    const AttentionGradArgs<T> &args = work.args;
    auto &mine = shared<Shared>();
    const Acc *k = mine.first[warp()], *v = mine.second[warp()];
    Acc *weights = mine.weights[warp()], *dProducts = mine.dProducts[warp()];
    int64_t row = begin + lane();
    typename AttentionGradWork<T>::Pair pair = {};
    if (sees)
      pair = work.pairOf(
          b, h, row,
          [&](int64_t i) {
            return Acc(widened(*at(args.q, b, row, h, i))) * sharedLoad(&k[i]);
          },
          [&](int64_t i) {
            return Acc(widened(*at(args.dout, b, row, h, i))) *
                   sharedLoad(&v[i]);
          });
    sharedStore(&weights[lane()], pair.weight);
    sharedStore(&dProducts[lane()], pair.dProduct);
    warpBarrier();
    for (; seen; seen &= seen - 1) {
      int from = firstBit(seen);
      Acc weight = sharedLoad(&weights[from]);
      Acc dProduct = sharedLoad(&dProducts[from]);
      CP_UNROLL
      for (int i = 0; i < perLane; ++i) {
        int64_t channel = lane() + i * warpSize;
        if (channel < args.d)
          dk[i] +=
              dProduct * Acc(widened(*at(args.q, b, begin + from, h, channel)));
        if (channel < args.e)
          dv[i] += weight *
                   Acc(widened(*at(args.dout, b, begin + from, h, channel)));
      }
    }
    warpBarrier();
  }
};

template <typename T>
const char *runGrad(const char *op, AttentionGradWork<T> &work,
                    Workspace &workspace, void *stream) {
  using Acc = AccumulatorOf<T>;
  const AttentionGradArgs<T> &args = work.args;
  if (args.d > mostChannels || args.e > mostChannels)
    return fail("%s: expected heads of at most %d channels on a card, got %lld "
                "and %lld",
                op, mostChannels, (long long)args.d, (long long)args.e);
  work.inner = static_cast<Acc *>(
      workspace.allocate(size_t(args.b * args.hq * args.l) * sizeof(Acc)));
  if (!work.inner)
    return outOfMemory(op);
  if (const char *message =
          launch(op, InnerProducts<T>{work},
                 {ceilDiv(args.l, 128), args.hq, args.b}, stream))
    return message;
  if (const char *message =
          launch(op, CotangentOfQueries<T>{work},
                 {ceilDiv(args.l, warps), args.hq, args.b}, stream))
    return message;
  return launch(op, CotangentOfKeys<T>{work},
                {ceilDiv(args.s, warps), args.hkv, args.b}, stream);
}

} // namespace

template <typename T>
const char *attentionGrad(const Call &call, void *stream) {
  AttentionGradWork<T> work = {};
  if (const char *message = decode(onDevice(call), work.args))
    return message;
  Workspace workspace(stream);
  return runGrad("attention_grad", work, workspace, stream);
}

template <typename T>
const char *attentionGradBlock(const Call &call, void *stream) {
  AttentionGradWork<T> work = {};
  if (const char *message = decodeBlock(onDevice(call), work.args))
    return message;
  Workspace workspace(stream);
  int64_t *keys = nullptr;
  if (const char *message = positionsOf("attention_grad_block", work.args.kRuns,
                                        work.args.s, workspace, keys, stream))
    return message;
  work.keys = keys;
  return runGrad("attention_grad_block", work, workspace, stream);
}

template const char *attentionGrad<float>(const Call &, void *);
template const char *attentionGrad<double>(const Call &, void *);
template const char *attentionGrad<BFloat16>(const Call &, void *);
template const char *attentionGradBlock<float>(const Call &, void *);
template const char *attentionGradBlock<double>(const Call &, void *);
template const char *attentionGradBlock<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
