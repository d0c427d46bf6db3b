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
  /// `fail` is told of what the thread finds wrong.
  Trail(MessageWorld &world, std::function<void(const Failure &)> fail)
      : world(world), fail(std::move(fail)) {}
  Trail(const Trail &) = delete;
  Trail &operator=(const Trail &) = delete;
  ~Trail();

  /// Takes a message over that is followed; its ranks stay where they are.
  /// Waits where there are too many.
  Error add(const Posted &posted, const std::vector<int64_t> &ranks,
            const WaitedCall &call);
  /// Waits for all of them. What was found wrong with one, each time.
  Error settle() { return settleTo(0); }

private:
  struct Step {
    Posted posted;
    const std::vector<int64_t> *ranks;
    WaitedCall call;
  };
  MessageWait patience(const Step &step) const;
  void start();
  Error settleTo(size_t pending);
  Error drain();
  Error drop(Failure failure);
  void watch();

  MessageWorld &world;
  const std::function<void(const Failure &)> fail;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by the mutex, in their order.
  std::deque<Step> steps;
  /// When the first of them became the first.
  Clock::time_point since;
  /// Why some have been given up.
  Error lost;
  bool isOver = false, isSettling = false;
  /// Last: it uses all others.
  std::thread thread;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_TRAIL_H
