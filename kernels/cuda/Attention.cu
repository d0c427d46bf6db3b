//===- Attention.cu - Softmax attention on a card -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"
#include "CudaKernels.h"
#include "Vectors.h"

#include <algorithm>

namespace cp::kernels::cuda {

namespace {

template <typename Kernel>
const char *runTilesOf(const AttentionWork<BFloat16> &work,
                       Workspace &workspace, void *stream) {
  const AttentionArgs<BFloat16> &args = work.args;
  Kernel kernel = {};
  kernel.work = work;
  kernel.queryTiles = int(ceilDiv(args.l, Kernel::queries));
  kernel.fastQ = isVectorised(args.q, args.d);
  kernel.fastK = isVectorised(args.k, args.d);
  kernel.fastV = isVectorised(args.v, args.dv);
  kernel.fastO = isPaired(args.o, args.dv);
  if (const char *message =
          formKeyTiles("attention", work.keys, args.s, args.mask.causal,
                       kernel.tiles, workspace, stream))
    return message;
  return launch("attention", kernel, {kernel.queryTiles, args.hq, args.b},
                stream);
}

template <int D>
const char *runTiles(const AttentionWork<BFloat16> &work, Workspace &workspace,
                     void *stream) {
  if constexpr (D <= 128)
    if (hasWarpgroups<AttentionTiles<D, true>>())
      return runTilesOf<AttentionTiles<D, true>>(work, workspace, stream);
  return runTilesOf<AttentionTiles<D, false>>(work, workspace, stream);
}

} // namespace

template <typename T> const char *attention(const Call &call, void *stream) {
  AttentionWork<T> work;
  AttentionArgs<T> &args = work.args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  if (args.d > mostAttentionChannels || args.dv > mostAttentionChannels)
    return fail("attention: expected heads of at most %d channels on a card, "
                "got %lld and %lld",
                mostAttentionChannels, (long long)args.d, (long long)args.dv);
  Workspace workspace(stream);
  int64_t *queries = nullptr, *keys = nullptr;
  if (const char *message = positionsOf("attention", args.qRuns, args.l,
                                        workspace, queries, stream))
    return message;
  if (const char *message =
          positionsOf("attention", args.kRuns, args.s, workspace, keys, stream))
    return message;
  work.queries = queries;
  work.keys = keys;
  if constexpr (std::is_same_v<T, BFloat16>)
    if (int64_t channels = std::max(args.d, args.dv); isNarrow(args.kRuns))
      return channels <= 64    ? runTiles<64>(work, workspace, stream)
             : channels <= 128 ? runTiles<128>(work, workspace, stream)
                               : runTiles<256>(work, workspace, stream);
  using Kernel = AttentionPlain<T>;
  return launch("attention", Kernel{work},
                {ceilDiv(args.l, Kernel::warps), args.hq, args.b}, stream);
}

template const char *attention<float>(const Call &, void *);
template const char *attention<double>(const Call &, void *);
template const char *attention<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
