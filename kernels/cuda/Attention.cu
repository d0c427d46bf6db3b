//===- Attention.cu - Softmax attention on a card -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "CudaKernels.h"

namespace cp::kernels::cuda {

template <typename T> const char *attention(const Call &call, void *stream) {
  AttentionWork<T> work;
  AttentionArgs<T> &args = work.args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  using Kernel = AttentionPlain<T>;
  if (args.d > Kernel::mostChannels || args.dv > Kernel::mostChannels)
    return fail("attention: expected heads of at most %d channels on a card, "
                "got %lld and %lld",
                Kernel::mostChannels, (long long)args.d, (long long)args.dv);
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
  return launch("attention", Kernel{work},
                {ceilDiv(args.l, Kernel::warps), args.hq, args.b}, stream);
}

template const char *attention<float>(const Call &, void *);
template const char *attention<double>(const Call &, void *);
template const char *attention<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
