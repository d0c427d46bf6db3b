//===- Mirrors.h - Memory for what is on its way ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_MIRRORS_H
#define CP_LIB_RUNTIME_MESSAGES_MIRRORS_H

#include "Core/DeviceQueue.h"
#include "Core/Memory.h"

#include <memory>
#include <vector>

namespace cp::runtime {

/// Memory of one collective for what peers send and are sent, which is kept for
/// the next one.
class Mirrors {
public:
  static constexpr int64_t alignment = 64;
  static int64_t aligned(int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Of the host, or of a device.
  explicit Mirrors(Memory &memory, DeviceQueue *queue = nullptr)
      : memory(memory), queue(queue) {}
  /// 64-byte aligned; until reset().
  char *take(int64_t bytes);
  /// The next collective that takes as much finds it in one piece.
  void reset();

private:
  void addBlock(size_t bytes);
  void rewind();

  struct Release {
    DeviceQueue *queue;
    void operator()(char *bytes) const;
  };
  struct Block {
    std::unique_ptr<char, Release> bytes;
    size_t size;
  };
  Memory &memory;
  DeviceQueue *const queue;
  std::vector<Block> blocks;
  /// Of the last block, and of all of them.
  size_t used = 0, held = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_MIRRORS_H
