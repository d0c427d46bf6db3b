//===- Courier.h - Calls that go on while a rank computes -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_COURIER_H
#define CP_LIB_RUNTIME_COURIER_H

#include "Context.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace cp::runtime {

/// Makes a rank's deferred calls, one after the other, on a thread of its own
/// and in a context of its own: with groups, memory and counters that the
/// program's calls do not share. So those of a kind are made in one order on
/// all ranks, and the two kinds never wait for each other.
class Courier {
public:
  explicit Courier(Context &context);
  Courier(const Courier &) = delete;
  Courier &operator=(const Courier &) = delete;
  /// Ends what is under way: it must have failed, or end.
  ~Courier();

  /// Takes a call over, with the pointers of its `count` buffers.
  void begin(cprt_op *op, const int64_t *desc, void *const *buffers,
             size_t count);
  /// Returns when the calls that write one of `outs` have ended, and those
  /// before them; counts the time as theirs.
  void wait(void *const *outs, size_t count);

  /// What its calls have allocated.
  const Memory &memory() const { return twin.memory; }
  void resetStatistics() { twin.memory.resetStatistics(); }

private:
  struct Errand {
    cprt_op *op = nullptr;
    const int64_t *desc = nullptr;
    std::vector<void *> buffers;
    size_t numOuts = 0;
    bool isDone = false;
    /// Once it is done: what it moved.
    cprt_counter count = {};
    /// And what the rank's history calls it.
    int64_t recorded = -1;

    bool writes(void *const *outs, size_t number) const;
  };

  void run();
  void make(Errand &errand);
  void settle(const Errand &errand, double exposedSeconds);

  Context &context;
  Context twin;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by the mutex: in their order, those that are done first, and those
  /// that are kept for their memory.
  std::list<Errand> errands, spare;
  bool isOver = false;
  /// Last: it uses all others.
  std::thread thread;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_COURIER_H
