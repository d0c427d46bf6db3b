//===- Meeting.cpp - Where the ranks of a group wait for each other -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

#include "ThreadWorld.h"
#include "Wait.h"

#include <algorithm>
#include <thread>

using namespace cp::runtime;
using Clock = std::chrono::steady_clock;

/// A rank that waits has a processor to itself, and is woken late: some tens of
/// microseconds are what others differ by that do the same.
static constexpr std::chrono::microseconds spinTime{100};

Meeting::Meeting(ThreadWorld &world, std::vector<int64_t> ranks)
    : world(world), ranks(std::move(ranks)), participants(this->ranks.size()) {}

bool Meeting::spin(const std::atomic<uint64_t> &word, uint64_t least) const {
  auto isOver = [&] { return word.load(std::memory_order_acquire) >= least; };
  if (world.oversubscribed) {
    std::this_thread::yield();
    return isOver();
  }
  return cp::kernels::spin(spinTime, isOver);
}

/// Waits until isOver(), the world fails, or the deadline has passed. The lock
/// is held before and afterwards.
template <typename IsOver>
Meeting::Wake Meeting::park(Lock &lock, IsOver isOver) {
  Clock::time_point deadline = Clock::now() + world.deadline;
  ++numParked;
  bool inTime = changed.wait_until(lock, deadline, [&] {
    return isOver() || world.hasFailure.load(std::memory_order_relaxed);
  });
  --numParked;
  if (isOver())
    return Wake::Done;
  return inTime ? Wake::Failed : Wake::Late;
}

void Meeting::wakeParked() {
  if (numParked == 0)
    return;
  std::lock_guard<std::mutex> lock(world.mutex);
  changed.notify_all();
}

Failure Meeting::spread(Failure failure) {
  world.spread(std::move(failure));
  return world.failure;
}

Failure Meeting::fail(Failure failure) {
  Lock lock(world.mutex);
  return spread(std::move(failure));
}

Error Meeting::enter(Context &context, size_t slot, Participant &mine) {
  if (world.hasFailure.load(std::memory_order_acquire))
    return world.failure;
  uint64_t next = entries.load(std::memory_order_relaxed) + 1;
  participants[slot].store(&mine, std::memory_order_release);
  if (numEntered.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks.size())
    return completeEntry(context, slot, mine);
  if (spin(entries, next))
    return std::nullopt;
  return waitForEntry(context, slot, mine, next);
}

/// Of the last to come. Nobody withdraws meanwhile.
Error Meeting::completeEntry(Context &context, size_t slot, Participant &mine) {
  if (Error mismatch = findMismatch(mine, context.rank)) {
    Lock lock(world.mutex);
    participants[slot] = nullptr;
    --numEntered;
    return spread(std::move(*mismatch));
  }
  numEntered.store(0, std::memory_order_relaxed);
  ++entries;
  wakeParked();
  return std::nullopt;
}

Error Meeting::waitForEntry(Context &context, size_t slot, Participant &mine,
                            uint64_t next) {
  Lock lock(world.mutex);
  Error failure = findMismatch(mine, context.rank);
  if (!failure)
    failure = findCycle(*mine.call, context.rank);
  if (!failure) {
    ThreadWorld::Waiting &waiting = world.waiting[size_t(context.rank)];
    waiting = {this, mine.call};
    Wake wake = park(lock, [&] { return entries >= next; });
    waiting = {};
    if (wake == Wake::Done)
      return std::nullopt;
    if (wake == Wake::Late)
      failure = lateFailure(*mine.call, context.rank);
  }
  if (!withdraw(lock, slot, next))
    return std::nullopt;
  return failure ? spread(std::move(*failure)) : world.failure;
}

/// Whether the rank is out again; not if all are in by now. When all have come
/// the last of them is about to let them in or to withdraw itself.
bool Meeting::withdraw(Lock &lock, size_t slot, uint64_t next) {
  while (entries.load(std::memory_order_acquire) < next) {
    size_t entered = numEntered.load(std::memory_order_relaxed);
    bool isDecided = entered == 0 || entered == ranks.size();
    if (!isDecided &&
        numEntered.compare_exchange_strong(entered, entered - 1)) {
      participants[slot] = nullptr;
      return true;
    }
    // Who decides may want the mutex.
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  return false;
}

uint64_t Meeting::depart() {
  uint64_t next = exits.load(std::memory_order_relaxed) + 1;
  if (++numDeparted == ranks.size())
    completeExit();
  return next;
}

void Meeting::leave(uint64_t next) {
  if (spin(exits, next))
    return;
  Lock lock(world.mutex);
  ++numParked;
  changed.wait(lock, [&] { return exits >= next; });
  --numParked;
}

/// Nobody enters again before `exits` has counted up.
void Meeting::completeExit() {
  numDeparted.store(0, std::memory_order_relaxed);
  for (std::atomic<Participant *> &participant : participants)
    participant.store(nullptr, std::memory_order_relaxed);
  ++exits;
  wakeParked();
}

void Meeting::publish(Participant &mine, uint64_t progress) {
  mine.progress = progress;
  // Most steps of a chain are awaited by nobody who has parked.
  if (mine.awaited > progress)
    return;
  std::lock_guard<std::mutex> lock(world.mutex);
  mine.awaited = UINT64_MAX;
  changed.notify_all();
}

Error Meeting::awaitProgress(size_t slot, uint64_t least,
                             const Descriptor &call) {
  Participant &peer = at(slot);
  if (spin(peer.progress, least))
    return std::nullopt;
  Lock lock(world.mutex);
  Wake wake = park(lock, [&] {
    // Each time: who wakes one rank wakes all, and forgets who awaits it.
    peer.awaited = std::min(peer.awaited.load(), least);
    return peer.progress >= least;
  });
  if (wake == Wake::Done)
    return std::nullopt;
  if (wake == Wake::Failed)
    return world.failure;
  return spread(
      {CPRT_TIMEOUT, call.title() + ": rank " + std::to_string(ranks[slot]) +
                         " handed nothing on within " +
                         std::to_string(world.deadline.count()) +
                         " ms; look at what it does, or raise the deadline"});
}

Error Meeting::findMismatch(const Participant &mine, int64_t rank) const {
  for (size_t slot = 0; slot < ranks.size(); ++slot) {
    const Participant *peer =
        participants[slot].load(std::memory_order_acquire);
    if (!peer || peer == &mine || peer->call->sameAs(*mine.call))
      continue;
    uint64_t number = entries.load(std::memory_order_relaxed);
    return Failure{
        CPRT_MISMATCH,
        "collective number " + std::to_string(number) + " of ranks " +
            listText(ranks.data(), ranks.size()) + ": rank " +
            std::to_string(ranks[slot]) + " is at " + peer->call->describe() +
            ", rank " + std::to_string(rank) + " is at " +
            mine.call->describe() + "; expected the same call on every rank"};
  }
  return std::nullopt;
}

std::vector<int64_t> Meeting::missingRanks(int64_t except) const {
  std::vector<int64_t> missing;
  for (size_t slot = 0; slot < ranks.size(); ++slot)
    if (!participants[slot] && ranks[slot] != except)
      missing.push_back(ranks[slot]);
  return missing;
}

/// Whether `waiter` cannot go on before `target` has moved. Every wait is for
/// all missing ranks, so one path of waits is enough.
bool Meeting::waitsFor(ThreadWorld &world, int64_t waiter, int64_t target) {
  world.seen[size_t(waiter)] = true;
  const Meeting *meeting = world.waiting[size_t(waiter)].in;
  if (!meeting)
    return false;
  for (size_t slot = 0; slot < meeting->ranks.size(); ++slot) {
    int64_t rank = meeting->ranks[slot];
    if (meeting->participants[slot])
      continue;
    if (rank == target ||
        (!world.seen[size_t(rank)] && waitsFor(world, rank, target)))
      return true;
  }
  return false;
}

Error Meeting::findCycle(const Descriptor &call, int64_t rank) const {
  for (size_t slot = 0; slot < ranks.size(); ++slot) {
    int64_t peer = ranks[slot];
    if (participants[slot] || peer == rank)
      continue;
    world.seen.assign(world.contexts.size(), false);
    if (!waitsFor(world, peer, rank))
      continue;
    const ThreadWorld::Waiting &other = world.waiting[size_t(peer)];
    return Failure{CPRT_MISMATCH,
                   "ranks wait for each other in different groups: rank " +
                       std::to_string(rank) + " is at " + call.describe() +
                       ", rank " + std::to_string(peer) + " is at " +
                       other.call->describe() +
                       "; expected the same order of calls on every rank"};
  }
  return std::nullopt;
}

Failure Meeting::lateFailure(const Descriptor &call, int64_t rank) const {
  std::vector<int64_t> missing = missingRanks(rank);
  std::string text = call.title() + ": waited " +
                     std::to_string(world.deadline.count()) + " ms for ranks " +
                     listText(missing.data(), missing.size());
  for (int64_t late : missing)
    if (world.waiting[size_t(late)].in)
      text += "; rank " + std::to_string(late) + " itself waits at " +
              world.waiting[size_t(late)].call->title();
  return {CPRT_TIMEOUT, text + "; look at what they do, or raise the deadline"};
}
