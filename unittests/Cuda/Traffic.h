//===- Traffic.h - What blocks take from memory -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts which bytes of memory the blocks of a launch read. What a block reads
// twice is in its caches and counts once; what several blocks read counts for
// each, since nothing says that a card's second cache still has it. What a
// block copies to all of its cluster is read once.
//
// Kernels for this are compiled with -fsanitize=thread, whose calls before each
// access end here instead of in its library.
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_TRAFFIC_H
#define CP_UNITTESTS_CUDA_TRAFFIC_H

#include "Executor.h"

#include <vector>

namespace cp::kernels::cuda::exec {

/// From its making on, of the calling thread's launches. One at a time.
class Traffic : public Watcher {
public:
  Traffic() { watchBy(this); }
  ~Traffic() override { watchBy(nullptr); }
  Traffic(const Traffic &) = delete;
  Traffic &operator=(const Traffic &) = delete;

  /// A tensor that is read, which must outlive this.
  void add(const void *begin, size_t bytes) {
    if (bytes)
      areas.emplace_back(begin, bytes, false);
  }
  /// The bytes that were read of added tensors, by each block that read them.
  int64_t ofTensors() const { return sumOf(false); }
  /// The same of what kernels had for the length of a call.
  int64_t ofWorkspaces() const { return sumOf(true); }

  void allocated(const void *begin, size_t bytes) override {
    areas.emplace_back(begin, bytes, true);
  }
  void read(const void *from, size_t bytes) override;
  void blocksEnd() override;

private:
  struct Area {
    Area(const void *begin, size_t bytes, bool isWorkspace)
        : begin(static_cast<const char *>(begin)), bytes(bytes),
          isWorkspace(isWorkspace) {}

    const char *begin;
    size_t bytes;
    bool isWorkspace;
    /// What the running blocks of a cluster have read of it.
    std::vector<bool> isRead[mostBlocksOfACluster];
    int64_t taken = 0;
  };

  int64_t sumOf(bool workspaces) const {
    int64_t sum = 0;
    for (const Area &area : areas)
      sum += area.isWorkspace == workspaces ? area.taken : 0;
    return sum;
  }

  std::vector<Area> areas;
};

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_TRAFFIC_H
