//===- SsdLaunch.h - Starting the kernels of scans --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDLAUNCH_H
#define CP_KERNELS_CUDA_SSDLAUNCH_H

#include "SsdTileStates.h"

#include <algorithm>

namespace cp::kernels::cuda {

/// A message ends the launches of a call.
#define CP_RETURN_IF(call)                                                     \
  if (const char *message = (call))                                            \
  return message

template <typename T, int Rank>
View<const T, Rank> readOnly(const View<T, Rank> &view) {
  View<const T, Rank> same = {view.data, {}};
  std::copy(view.strides, view.strides + Rank, same.strides);
  return same;
}

/// [b, segments, h, p, n] without gaps.
template <typename Acc>
View<Acc, 5> denseStates(const SsdSizes &s, int64_t segments, Acc *states) {
  int64_t state = s.p * s.n;
  return {states, {segments * s.h * state, s.h * state, state, s.n, 1}};
}

/// Of each tile of `work` alone; see SsdTileStates.
template <typename T, bool Back>
const char *startTileStates(const char *op, const SsdWork<T> &work,
                            const View<const T, 4> &rows,
                            const View<const T, 4> &columns, void *stream) {
  int64_t panelsP = ceilDiv(work.p, panelWidth);
  int64_t panelsN = ceilDiv(work.n, panelWidth);
  return launch(op,
                SsdTileStates<T, Back>{work, rows, columns, panelsP, panelsN},
                {work.segments * panelsP * panelsN, work.h, work.b}, stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDLAUNCH_H
