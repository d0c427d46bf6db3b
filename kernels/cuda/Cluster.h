//===- Cluster.h - Blocks that share what they load -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From sm_90 on, blocks that are side by side may be started as a cluster (see
// Grid): all of them run at once, and one instruction copies to the shared
// memory of each of them, past the caches, so that what they have in common is
// read once ("cp.async.bulk" with ".multicast::cluster" in PTX). Where the code
// that a card runs is an older one's there are none; see activeClusters.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_CLUSTER_H
#define CP_KERNELS_CUDA_CLUSTER_H

#include "Tile.h"

namespace cp::kernels::cuda {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr bool codeHasClusters = true;
#else
constexpr bool codeHasClusters = false;
#endif

/// In shared memory: counts the bytes that are copied to its block. They come
/// in phases, each of which is announced once; phase k has parity k % 2.
struct alignas(8) Arrivals {
  uint64_t state;
};

/// Of a tensor of bf16 what copies of boxes need to know: see describeTensor.
struct alignas(128) TensorMap {
  uint64_t words[16];
};

#ifdef __CUDACC__
CP_DEVICE int rankInCluster() {
  uint32_t rank = 0;
  if constexpr (codeHasClusters)
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return int(rank);
}
/// The barrier of all threads of a cluster, in two halves. What is copied to
/// the cluster behind the second one finds done what its threads did to their
/// shared memory before the first one.
CP_DEVICE void arriveAtCluster() {
  if constexpr (codeHasClusters)
    asm volatile("fence.proxy.async::generic.release.sync_restrict::shared::cta"
                 ".cluster;\n"
                 "barrier.cluster.arrive.relaxed.aligned;" ::
                     : "memory");
}
CP_DEVICE void waitForCluster() {
  if constexpr (codeHasClusters)
    asm volatile(
        "barrier.cluster.wait.acquire.aligned;\n"
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster"
        ".cluster;" ::
            : "memory");
}
/// Once, by one thread, in front of a barrier of the cluster.
CP_DEVICE void setArrivals(Arrivals *arrivals) {
  if constexpr (codeHasClusters)
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;\n"
        "fence.mbarrier_init.release.cluster;" ::"r"(sharedAddress(arrivals))
        : "memory");
}
/// By one thread: how many bytes come in this phase.
CP_DEVICE void announce(Arrivals *arrivals, int bytes) {
  if constexpr (codeHasClusters)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     sharedAddress(arrivals)),
                 "r"(bytes)
                 : "memory");
}
/// Until the phase with this parity has ended; by each thread that reads what
/// came.
CP_DEVICE void waitForArrivals(Arrivals *arrivals, bool parity) {
  if constexpr (codeHasClusters) {
    uint32_t there;
    do {
      asm volatile("{\n"
                   ".reg .pred there;\n"
                   "mbarrier.try_wait.parity.shared::cta.b64 there, [%1], %2;\n"
                   "selp.u32 %0, 1, 0, there;\n"
                   "}"
                   : "=r"(there)
                   : "r"(sharedAddress(arrivals)), "r"(uint32_t(parity))
                   : "memory");
    } while (!there);
  }
}
/// Starts to copy `bytes`, a multiple of 16, to the same place in each of the
/// cluster's `blocks`, whose arrivals at the same place count them. Both
/// addresses are multiples of 16.
CP_DEVICE void copyToCluster(void *to, const void *from, int bytes,
                             Arrivals *arrivals, int blocks) {
  if constexpr (codeHasClusters)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
            sharedAddress(to)),
        "l"(from), "r"(bytes), "r"(sharedAddress(arrivals)),
        "h"(uint16_t((1u << blocks) - 1))
        : "memory");
}
/// The same of a box of a tensor in a card's memory, which starts at these
/// indices, the last dimension's first, and is zeros beyond the tensor. Its
/// rows come with their parts exchanged, as in PanelTile; `to` is a multiple of
/// 128 bytes. `map` is in a kernel's arguments.
CP_DEVICE void copyBoxToCluster(void *to, const TensorMap *map,
                                const int (&first)[4], Arrivals *arrivals,
                                int blocks) {
  if constexpr (!codeHasClusters)
    return;
  if (blocks == 1)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::
            "r"(sharedAddress(to)),
        "l"(map), "r"(first[0]), "r"(first[1]), "r"(first[2]), "r"(first[3]),
        "r"(sharedAddress(arrivals))
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(sharedAddress(to)),
        "l"(map), "r"(first[0]), "r"(first[1]), "r"(first[2]), "r"(first[3]),
        "r"(sharedAddress(arrivals)), "h"(uint16_t((1u << blocks) - 1))
        : "memory");
}
#else
inline int rankInCluster() { return exec::rankInCluster(); }
inline void arriveAtCluster(int line = __builtin_LINE()) {
  exec::arriveAtCluster(line);
}
inline void waitForCluster(int line = __builtin_LINE()) {
  exec::waitForCluster(line);
}
inline void setArrivals(Arrivals *arrivals, int line = __builtin_LINE()) {
  exec::setArrivals(arrivals, line);
}
inline void announce(Arrivals *arrivals, int bytes,
                     int line = __builtin_LINE()) {
  exec::announce(arrivals, bytes, line);
}
inline void waitForArrivals(Arrivals *arrivals, bool parity,
                            int line = __builtin_LINE()) {
  exec::waitForArrivals(arrivals, parity, line);
}
inline void copyToCluster(void *to, const void *from, int bytes,
                          Arrivals *arrivals, int blocks,
                          int line = __builtin_LINE()) {
  exec::copyToCluster(to, from, size_t(bytes), arrivals, blocks, line);
}
inline void copyBoxToCluster(void *to, const TensorMap *map,
                             const int (&first)[4], Arrivals *arrivals,
                             int blocks, int line = __builtin_LINE()) {
  exec::copyBoxToCluster(to, map, first, arrivals, blocks, line);
}
#endif

/// Rows in shared memory as they are in memory, one multiple of 16 bytes after
/// the other: behind each are 16 bytes of nothing, so that the same part of
/// eight rows lies in different banks.
template <int Rows, int Columns> struct alignas(16) StraightTile {
  static_assert(Columns % 64 == 0, "rows begin four banks apart");
  static constexpr int rows = Rows, columns = Columns, stride = Columns + 8;

  uint16_t elements[Rows * stride];

  CP_DEVICE static int offset(int row, int column) {
    return row * stride + column;
  }
  CP_DEVICE static int moved(int offset, int columns) {
    return offset + columns;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_CLUSTER_H
