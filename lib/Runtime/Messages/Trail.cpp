//===- Trail.cpp - Messages that only the device waits for ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trail.h"

#include "MessageWorld.h"

#include <new>
#include <system_error>

using namespace cp::runtime;

/// How often the thread looks.
static constexpr std::chrono::milliseconds pause{10};
/// Messages of a rank that runs ahead of its device; each keeps some words on
/// the card. Fewer than the calls of a group that are remembered (Whereabouts).
static constexpr size_t mostPending = 1024;

MessageWait Trail::waitOf(const Step &step, MessageWait::Kind kind) const {
  return {world, *step.ranks, step.call, kind};
}

/// The first message is another one; with the mutex held.
void Trail::restart() {
  since = Clock::now();
  patience = MessageWait::longestPatience;
}

/// Gives up all; with the mutex held.
Error Trail::drop(Failure failure) {
  for (Step &step : steps) {
    context.history->markUnfinished(step.recorded);
    if (step.posted.request)
      world.wire.cancel(step.posted.request);
  }
  steps.clear();
  lost = std::move(failure);
  return lost;
}

/// Without a thread, things are found out when the device is waited for.
void Trail::start() try {
  if (!thread.joinable())
    thread = std::thread([this] { watch(); });
} catch (const std::exception &) {
  return;
}

Error Trail::add(Posted &posted, const std::vector<int64_t> &ranks,
                 const WaitedCall &call, int64_t recorded) {
  bool isFull = false, isFirst = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isFirst = steps.empty();
    if (isFirst)
      restart();
    steps.push_back({posted, &ranks, call, recorded});
    steps.back().call.whole = nullptr;
    posted.request = nullptr;
    isFull = steps.size() > mostPending;
    start();
  }
  if (isFirst)
    changed.notify_one();
  return isFull ? settleTo(mostPending / 2) : std::nullopt;
}

Error Trail::settleTo(size_t pending) {
  std::unique_lock<std::mutex> lock(mutex);
  isSettling = true;
  try {
    waitFor(lock, pending);
  } catch (const std::bad_alloc &) {
    isSettling = false;
    throw;
  }
  restart();
  isSettling = false;
  return lost;
}

/// With the lock held.
void Trail::waitFor(std::unique_lock<std::mutex> &lock, size_t pending) {
  while (!lost && steps.size() > pending) {
    // The thread keeps away, and nobody else adds meanwhile.
    Step &step = steps.front();
    lock.unlock();
    Error failure = waitOf(step, MessageWait::Kind::Behind).wait(step.posted);
    lock.lock();
    if (failure)
      drop(std::move(*failure));
    else
      steps.pop_front();
  }
}

/// Lets go what has arrived; with the mutex held.
Error Trail::drain() {
  while (!steps.empty()) {
    Step &step = steps.front();
    MessageWait waits = waitOf(step, MessageWait::Kind::Watched);
    bool isDone = false;
    if (Error failure = waits.test(step.posted, isDone))
      return failure;
    if (isDone) {
      steps.pop_front();
      restart();
      continue;
    }
    Clock::duration waited = Clock::now() - since;
    if (waited >= world.deadline)
      return waits.lateFailure(step.posted.peer);
    if (waited < patience)
      break;
    waits.askAbout(step.posted.peer);
    patience += std::min(patience, MessageWait::rarestAsking);
    break;
  }
  return std::nullopt;
}

/// One look; with the lock held.
void Trail::look(std::unique_lock<std::mutex> &lock) try {
  Error failure = world.hasFailed() ? world.failure() : drain();
  if (!failure)
    return;
  drop(*failure);
  lock.unlock();
  context.fail(failure->status, failure->message);
  lock.lock();
} catch (const std::bad_alloc &) {
  // Who waits for the device finds it out, or the next look.
  if (!lock.owns_lock())
    lock.lock();
}

void Trail::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isOver) {
    if (steps.empty())
      changed.wait(lock);
    else
      changed.wait_for(lock, pause, [&] { return isOver; });
    if (!isOver && !isSettling && !steps.empty())
      look(lock);
  }
}

Trail::~Trail() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
  // Of a world whose rank did not wait for its device, and which has failed.
  if (!steps.empty())
    (void)drop({CPRT_PEER_FAILED, "the world is destroyed"});
}
