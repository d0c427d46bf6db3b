//===- SideQueue.h - Calls that go on while a device computes ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SIDEQUEUE_H
#define CP_LIB_RUNTIME_SIDEQUEUE_H

#include "Context.h"

#include <deque>

namespace cp::runtime {

/// What a Courier is for ranks whose device keeps the order of exchanges: a
/// rank's deferred calls are given to a queue beside its own, by the rank's own
/// thread and so in one order with all others, and its queue waits for them
/// when the rank does. They have a context of their own, as memory that is on
/// its way is not the program's calls' too. What a call does on the host it
/// does at once.
class SideQueue {
public:
  /// For a context whose device can open queues beside each other.
  static Error open(Context &context, std::unique_ptr<SideQueue> &made);
  SideQueue(const SideQueue &) = delete;
  SideQueue &operator=(const SideQueue &) = delete;
  ~SideQueue();

  /// Starts a call behind all that the rank's queue has been given, with the
  /// pointers of its `count` buffers.
  Error begin(cprt_op *op, const int64_t *desc, void *const *buffers,
              size_t count);
  /// Lets the rank's queue go on behind the calls that write one of `outs`.
  Error wait(void *const *outs, size_t count);
  /// Waits for all of them on the host.
  Error synchronize() { return twin.queue->synchronize(); }

  /// What its calls have allocated.
  const Memory &memory() const { return twin.memory; }
  void resetStatistics() { twin.memory.resetStatistics(); }

private:
  explicit SideQueue(Context &context);

  struct Errand {
    std::vector<void *> outs;
    /// Of the device: that the call is done.
    void *event;
  };
  void *takeEvent();

  Context &context;
  Context twin;
  /// What the rank's queue has been given when a call begins.
  void *given = nullptr;
  /// In their order; and events that mark nothing any more.
  std::deque<Errand> errands;
  std::vector<void *> spare;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SIDEQUEUE_H
