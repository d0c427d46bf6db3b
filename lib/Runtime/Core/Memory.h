//===- Memory.h - The memory that one rank has allocated --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MEMORY_H
#define CP_LIB_RUNTIME_MEMORY_H

#include "cp/Runtime/cprt.h"

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cp::runtime {

class DeviceQueue;

/// Owns what it has handed out and not got back. Used by one thread.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory();

  /// Where what allocate() gives comes from, before the first: a device, or
  /// the host, with a caller's allocator or, where it is null, without.
  void moveTo(DeviceQueue &queue) { device = &queue; }
  void takeFrom(const cprt_allocator *others) { allocator = others; }
  /// 64-byte aligned; null when there is not that much. `bytes` >= 0; zero
  /// bytes still get an address of their own.
  void *allocate(int64_t bytes);
  /// False when `pointer` is not one that allocate() returned.
  bool release(void *pointer);

  /// One buffer that stays from call to call and only grows, for what a call
  /// shows its peers; its contents are lost when it grows. Null when there is
  /// not that much. Growing counts as an allocation, but not in the peak, which
  /// is the program's.
  char *staging(int64_t bytes);
  /// For memory that lies elsewhere but is this rank's.
  void countAllocations(int64_t count) { allocations += count; }

  int64_t peakBytes() const { return peak; }
  int64_t numAllocations() const { return allocations; }
  /// The peak starts again from what is live now.
  void resetStatistics();

private:
  void *take(int64_t bytes);
  void free(void *pointer);

  DeviceQueue *device = nullptr;
  const cprt_allocator *allocator = nullptr;
  std::unordered_map<void *, int64_t> live;
  std::unique_ptr<char[]> staged;
  int64_t stagedBytes = 0;
  int64_t liveBytes = 0, peak = 0, allocations = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MEMORY_H
