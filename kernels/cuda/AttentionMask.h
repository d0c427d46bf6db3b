//===- AttentionMask.h - What a query sees ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONMASK_H
#define CP_KERNELS_CUDA_ATTENTIONMASK_H

#include "Launch.h"
#include "OpArguments.h"

#include <vector>

namespace cp::kernels::cuda {

/// The least position that a causal query sees, which is beyond its own where
/// it sees none.
CP_DEVICE int64_t firstSeen(const AttentionMask &mask, const PlacesView &places,
                            int64_t b, int64_t row, int64_t position) {
  int64_t first = 0;
  if (mask.window && position - mask.window + 1 > first)
    first = position - mask.window + 1;
  if (places.data) {
    int64_t place = *at(places, b, row);
    int64_t begin = place < 0 ? position + 1 : position - place;
    first = begin > first ? begin : first;
  }
  return first;
}

/// Where each row of a part stands in the whole, from its runs: words of three
/// a run, and where the run begins in the part.
struct FillPositions {
  static constexpr int threads = 256, blocks = 1, words = 4;
  using Shared = Nothing;

  const int64_t *runs;
  int64_t count, rows;
  int64_t *positions;

  CP_DEVICE void operator()() const {
    int64_t row = int64_t(blockX()) * threads + thread();
    if (row >= rows)
      return;
    int64_t low = 0, high = count;
    // The last run that begins at the row or before it.
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      if (runs[middle * words + 3] <= row)
        low = middle;
      else
        high = middle;
    }
    const int64_t *run = runs + low * words;
    positions[row] = run[0] + (row - run[3]) * run[2];
  }
};

/// The position of each row of a part, in memory of the workspace; null with a
/// message.
inline const char *positionsOf(const char *op, const Runs &runs, int64_t rows,
                               Workspace &workspace, int64_t *&positions,
                               void *stream) {
  std::vector<int64_t> words;
  int64_t begin = 0;
  for (int64_t i = 0; i < runs.count; ++i) {
    Run run = runs[i];
    words.insert(words.end(), {run.first, run.length, run.step, begin});
    begin += run.length;
  }
  int64_t *table = workspace.upload(words.data(), words.size());
  positions = static_cast<int64_t *>(
      workspace.allocate(size_t(rows) * sizeof(int64_t)));
  if (!table || !positions)
    return outOfMemory(op);
  return launch(op, FillPositions{table, runs.count, rows, positions},
                {ceilDiv(rows, FillPositions::threads)}, stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONMASK_H
