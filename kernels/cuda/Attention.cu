//===- Attention.cu - Softmax attention on a card -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "CudaKernels.h"

#include <vector>

namespace cp::kernels::cuda {

/// The position of each row of a part, in memory of the workspace; null with a
/// message.
static const char *positionsOf(const Runs &runs, int64_t rows,
                               Workspace &workspace, int64_t *&positions,
                               void *stream) {
  std::vector<int64_t> words;
  int64_t begin = 0;
  for (int64_t i = 0; i < runs.count; ++i) {
    Run run = runs[i];
    words.insert(words.end(), {run.first, run.length, run.step, begin});
    begin += run.length;
  }
  size_t bytes = words.size() * sizeof(int64_t);
  auto *table = static_cast<int64_t *>(workspace.upload(words.data(), bytes));
  positions = static_cast<int64_t *>(
      workspace.allocate(size_t(rows) * sizeof(int64_t)));
  if (!table || !positions)
    return outOfMemory("attention");
  return launch("attention", FillPositions{table, runs.count, rows, positions},
                {ceilDiv(rows, FillPositions::threads)}, stream);
}

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
  if (const char *message =
          positionsOf(args.qRuns, args.l, workspace, queries, stream))
    return message;
  if (const char *message =
          positionsOf(args.kRuns, args.s, workspace, keys, stream))
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
