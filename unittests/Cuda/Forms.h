//===- Forms.h - The forms that kernels have --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_FORMS_H
#define CP_UNITTESTS_CUDA_FORMS_H

#include "CudaKernels.h"

#include <gtest/gtest.h>

namespace cp::kernels::test {

/// Kernels for matrix units make again what came out not finite, by slow and
/// sure means, which would hide that it should have been finite. Of this
/// thread's calls; always 0 on a card.
int64_t numRepairs();
bool countsRepairs();
/// Whether kernels have these forms here: the executor has both.
bool hasClusters();
bool hasWarpgroups();

/// Bytes of shared memory that a block may have, as kernels of this thread are
/// told while it lives; a card has what it has.
class WithSharedMemory {
public:
  explicit WithSharedMemory(size_t bytes) : isPossible(tell(bytes)) {}
  WithSharedMemory(const WithSharedMemory &) = delete;
  WithSharedMemory &operator=(const WithSharedMemory &) = delete;
  ~WithSharedMemory() { tell(0); }
  bool isLimited() const { return isPossible; }

private:
  /// 0 is what there is. Returns false on a card.
  static bool tell(size_t bytes);

  bool isPossible;
};

/// How kernels run, of this thread's calls and while it lives; then as before.
class WithForm {
public:
  WithForm(int blocksOfCluster, bool byWarpgroups)
      : cluster(cuda::clusterLimit()),
        warpgroups(cuda::multipliesByWarpgroups()),
        before(cuda::startedForms()) {
    cuda::limitClusters(blocksOfCluster);
    cuda::multiplyByWarpgroups(byWarpgroups);
  }
  WithForm(const WithForm &) = delete;
  WithForm &operator=(const WithForm &) = delete;
  ~WithForm() {
    cuda::limitClusters(cluster);
    cuda::multiplyByWarpgroups(warpgroups);
  }
  /// Whether kernels of the form have been started: what is asked for need not
  /// come.
  bool hasStartedClusters() const {
    return cuda::startedForms().clusters > before.clusters;
  }
  bool hasStartedWarpgroups() const {
    return cuda::startedForms().warpgroups > before.warpgroups;
  }

private:
  int cluster;
  bool warpgroups;
  cuda::StartedForms before;
};

/// By warps, and by warpgroups where there are such, as which kernels run but
/// for what is `plain`.
template <typename Fn> void inEachForm(Fn fn, bool plain = false) {
  for (bool byWarpgroups : {false, true}) {
    if (byWarpgroups && !hasWarpgroups())
      continue;
    SCOPED_TRACE(byWarpgroups ? "warpgroups" : "warps");
    WithForm form(cuda::clusterLimit(), byWarpgroups);
    fn();
    EXPECT_EQ(form.hasStartedWarpgroups(), byWarpgroups && !plain);
  }
}

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_FORMS_H
