//===- Blocks.h - Memory of a card for messages -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_NCCL_BLOCKS_H
#define CP_LIB_RUNTIME_PLUGINS_NCCL_BLOCKS_H

#include "cp/Runtime/cprt_device.h"

#include <map>
#include <vector>

namespace cp::nccl {

/// Blocks of a queue's memory, kept when they are given back: a step takes
/// those of the step before.
class Blocks {
public:
  Blocks(const cprt_device &device, void *queue)
      : device(device), queue(queue) {}
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;
  ~Blocks() {
    for (auto [block, size] : sizes)
      device.release(queue, block);
  }

  /// Of at least so many bytes; null where there are not that many.
  void *take(int64_t bytes) {
    int64_t size = least;
    while (size < bytes)
      size *= 2;
    std::vector<void *> &list = spare[size];
    if (list.empty()) {
      void *made = device.allocate(queue, size);
      if (made)
        sizes[made] = size;
      return made;
    }
    void *taken = list.back();
    list.pop_back();
    return taken;
  }
  /// Once nothing uses it.
  void give(void *block) { spare[sizes.at(block)].push_back(block); }

private:
  static constexpr int64_t least = 4096;

  const cprt_device &device;
  void *const queue;
  std::map<void *, int64_t> sizes;
  std::map<int64_t, std::vector<void *>> spare;
};

} // namespace cp::nccl

#endif // CP_LIB_RUNTIME_PLUGINS_NCCL_BLOCKS_H
