//===- RmsNorm.cu - Gated RMS norm on a card ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "OpArguments.h"
#include "RmsNorm.h"

#include <algorithm>

namespace cp::kernels::cuda {

template <typename T, Gate Order, int Threads, int Vectors>
static const char *start(const NormWork<T> &work, void *stream) {
  using Kernel = RmsNormVectors<T, Order, Threads, Vectors>;
  int64_t blocks = ceilDiv(work.rows, Kernel::rowsOfBlock);
  // What a card takes at once, for all groups.
  int64_t most = ceilDiv(Kernel::blocks * multiprocessors(), work.groups);
  blocks = std::min(blocks, most);
  return launch("rms_norm",
                Kernel{work, blocks * Kernel::rowsOfBlock,
                       isVectorised(work.weight, work.c / work.groups)},
                {blocks, work.groups}, stream);
}

template <typename T, Gate Order>
static const char *startVectors(const NormWork<T> &work, void *stream) {
  int64_t vectors = work.c / work.groups / vectorWidth<T>;
  if (vectors <= 32)
    return start<T, Order, 32, 1>(work, stream);
  if (vectors <= 128)
    return start<T, Order, 64, 2>(work, stream);
  if (vectors <= 256)
    return start<T, Order, 128, 2>(work, stream);
  if (vectors <= 512)
    return start<T, Order, 256, 2>(work, stream);
  return start<T, Order, 512, 2>(work, stream);
}

template <typename T> const char *rmsNorm(const Call &call, void *stream) {
  RmsNormBuffers<T> from;
  if (const char *message = decode(onDevice(call), from))
    return message;
  NormWork<T> work = {from.rows,
                      from.c,
                      from.groups,
                      from.eps,
                      from.gateFirst,
                      deviceRows<const T>(from.x),
                      deviceRows<const T>(from.gate),
                      from.weight,
                      deviceRows<T>(from.y)};
  if (!work.c)
    return nullptr;
  if constexpr (!std::is_same_v<T, double>) {
    int64_t count = work.c / work.groups;
    if (isVectorised(work.x, count) && isVectorised(work.y, count) &&
        (!work.gate.data || isVectorised(work.gate, count)) &&
        count <= 1024 * vectorWidth<T> && work.groups <= 65535)
      return !work.gate.data  ? startVectors<T, Gate::None>(work, stream)
             : work.gateFirst ? startVectors<T, Gate::First>(work, stream)
                              : startVectors<T, Gate::Last>(work, stream);
  }
  using Kernel = RmsNormPlain<T>;
  return launch("rms_norm", Kernel{work},
                {ceilDiv(work.rows * work.groups, Kernel::threads / warpSize)},
                stream);
}

template const char *rmsNorm<float>(const Call &, void *);
template const char *rmsNorm<double>(const Call &, void *);
template const char *rmsNorm<BFloat16>(const Call &, void *);

} // namespace cp::kernels::cuda
