//===- AttentionGrad.cu - Cotangents of attention on a card ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionGradTiles.h"
#include "CudaKernels.h"
#include "Vectors.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {

template <typename T>
const char *runPlain(const char *op, const AttentionGradWork<T> &work,
                     void *stream) {
  using OfQueries = AttentionGradPlain<T, QueryGradRow, false>;
  using OfKeys = AttentionGradPlain<T, KeyGradRow, true>;
  const AttentionGradArgs<T> &args = work.args;
  if (const char *message =
          launch(op, OfQueries{work},
                 {ceilDiv(args.l, OfQueries::warps), args.hq, args.b}, stream))
    return message;
  return launch(op, OfKeys{work},
                {ceilDiv(args.s, OfKeys::warps), args.hkv, args.b}, stream);
}

template <int D, bool ByGroup, int Stages = 2>
const char *runTilesOf(const char *op, const AttentionGradWork<BFloat16> &work,
                       Workspace &workspace, void *stream) {
  const AttentionGradArgs<BFloat16> &args = work.args;
  AttentionGradTiles<D, false, ByGroup, Stages> ofQueries = {};
  ofQueries.work = work;
  ofQueries.isFastQ = isVectorised(args.q, args.d);
  ofQueries.isFastK = isVectorised(args.k, args.d);
  ofQueries.isFastV = isVectorised(args.v, args.e);
  ofQueries.isFastOut = isVectorised(args.dout, args.e);
  if (const char *message =
          formKeyTiles(op, work.keys, args.s, args.mask.causal, ofQueries.keys,
                       workspace, stream))
    return message;
  if (const char *message =
          formQueryTiles(op, work, ofQueries.queries, workspace, stream))
    return message;
  if (const char *message = launch(
          op, ofQueries, {ofQueries.queries.count, args.hq, args.b}, stream))
    return message;
  AttentionGradTiles<D, true, ByGroup, Stages> ofKeys = {};
  static_cast<AttentionGradTilesCall &>(ofKeys) = ofQueries;
  return launch(op, ofKeys, {ofKeys.keys.count, args.hkv, args.b}, stream);
}

template <int D>
const char *runTiles(const char *op, const AttentionGradWork<BFloat16> &work,
                     Workspace &workspace, void *stream) {
  return hasWarpgroups<AttentionGradTiles<D, true, true>>()
             ? runTilesOf<D, true>(op, work, workspace, stream)
             : runTilesOf<D, false>(op, work, workspace, stream);
}

/// Of more than 128 channels.
const char *runWideTiles(const char *op,
                         const AttentionGradWork<BFloat16> &work,
                         Workspace &workspace, void *stream) {
  // dk and dv take more of shared memory than dq.
  constexpr int D = mostAttentionChannels;
  if (hasRoom<AttentionGradTiles<D, true, false, 2>>())
    return runTilesOf<D, false, 2>(op, work, workspace, stream);
  if (hasRoom<AttentionGradTiles<D, true, false, 1>>())
    return runTilesOf<D, false, 1>(op, work, workspace, stream);
  return runPlain(op, work, stream);
}

template <typename T>
const char *runGrad(const char *op, AttentionGradWork<T> &work,
                    Workspace &workspace, void *stream) {
  using Acc = AccumulatorOf<T>;
  const AttentionGradArgs<T> &args = work.args;
  if (args.d > mostAttentionChannels || args.e > mostAttentionChannels)
    return fail("%s: expected heads of at most %d channels on a card, got %lld "
                "and %lld",
                op, mostAttentionChannels, (long long)args.d,
                (long long)args.e);
  work.inner = static_cast<Acc *>(
      workspace.allocate(size_t(args.b * args.hq * args.l) * sizeof(Acc)));
  if (!work.inner)
    return outOfMemory(op);
  if (const char *message =
          launch(op, InnerProducts<T>{work},
                 {ceilDiv(args.l, InnerProducts<T>::threads), args.hq, args.b},
                 stream))
    return message;
  if constexpr (std::is_same_v<T, BFloat16>)
    if (work.keys ? isNarrow(args.kRuns) : args.s < nowhere - 1) {
      int64_t channels = std::max(args.d, args.e);
      return channels <= 64    ? runTiles<64>(op, work, workspace, stream)
             : channels <= 128 ? runTiles<128>(op, work, workspace, stream)
                               : runWideTiles(op, work, workspace, stream);
    }
  return runPlain(op, work, stream);
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
