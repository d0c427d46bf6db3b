//===- Trail.h - Messages that only the device waits for --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the device's queue goes on behind a message by itself, the host leaves
// the call at once, and what became of the message is found out behind it: by
// whoever waits for the device, who waits for these messages first, with the
// patience of a call; and by a thread of their own, so that a rank that fails
// ends the work of a device for which nobody waits here.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_TRAIL_H
#define CP_LIB_RUNTIME_MESSAGES_TRAIL_H

#include "MessageWait.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace cp::runtime {

class Trail {
public:
  /// Of the rank of `context`, which what the thread finds wrong fails.
  Trail(MessageWorld &world, cprt_context &context)
      : world(world), context(context) {}
  Trail(const Trail &) = delete;
  Trail &operator=(const Trail &) = delete;
  ~Trail();

  /// Takes a message over that is followed, with its request; its ranks stay
  /// where they are. `recorded` is the call's number in the rank's history.
  /// Waits where there are too many.
  Error add(Posted &posted, const std::vector<int64_t> &ranks,
            const WaitedCall &call, int64_t recorded);
  /// Waits for all of them. What was found wrong with one, each time.
  Error settle() { return settleTo(0); }

private:
  struct Step {
    Posted posted;
    const std::vector<int64_t> *ranks;
    WaitedCall call;
    int64_t recorded;
  };
  MessageWait waitOf(const Step &step, MessageWait::Kind kind) const;
  void restart();
  void start();
  Error settleTo(size_t pending);
  void waitFor(std::unique_lock<std::mutex> &lock, size_t pending);
  Error drain();
  Error drop(Failure failure);
  void look(std::unique_lock<std::mutex> &lock);
  void watch();

  MessageWorld &world;
  cprt_context &context;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by the mutex, in their order.
  std::deque<Step> steps;
  /// When the first of them became the first, and after how long the thread
  /// asks about it.
  Clock::time_point since;
  std::chrono::milliseconds patience = {};
  /// Why some have been given up.
  Error lost;
  bool isOver = false, isSettling = false;
  /// Last: it uses all others.
  std::thread thread;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_TRAIL_H
