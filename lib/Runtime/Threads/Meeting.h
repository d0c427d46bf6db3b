//===- Meeting.h - Where ranks wait for each other --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective is two meetings of the same ranks. They *enter* with what they
// bring, compare it, and read each other's buffers; they *depart* when they
// have read, and *leave* together, so that nobody reuses a buffer that a peer
// still reads. Entering ends with the first failure of any rank, or at the
// deadline. Leaving does not: between the two a rank only copies memory, which
// ends by itself, and one that left early could free what a peer is reading.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_THREADS_MEETING_H
#define CP_LIB_RUNTIME_THREADS_MEETING_H

#include "Participant.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cp::runtime {

class ThreadWorld;

/// Ranks that come at about the same time meet without the mutex of their
/// world: the last one compares what all bring and lets them in. A rank that
/// waits for longer parks under the mutex, and only then looks whether the
/// others are at another call or wait for it elsewhere; whoever parks last sees
/// all of them. Lives as long as the world.
class Meeting {
public:
  /// `ranks` ascending; a rank's slot is its position there.
  Meeting(ThreadWorld &world, std::vector<int64_t> ranks);

  /// Returns when all ranks are here with the same call. CPRT_MISMATCH when two
  /// calls differ, or when ranks wait for each other in different groups;
  /// CPRT_TIMEOUT when one stays away; the world's failure when there is one.
  Error enter(cprt_context &context, size_t slot, Participant &mine);
  /// Says that this rank reads nothing of its peers any more; to be handed to
  /// leave().
  uint64_t depart();
  /// Waits until every rank that entered has departed.
  void leave(uint64_t departure);

  /// Between entering and departing.
  Participant &at(size_t slot) const {
    return *participants[slot].load(std::memory_order_relaxed);
  }

  /// Lets peers read more of `mine.staged`.
  void publish(Participant &mine, uint64_t progress);
  /// Waits until the participant in `slot` has published `least`; `call` is for
  /// the message. CPRT_TIMEOUT, or the world's failure when there is one.
  Error awaitProgress(size_t slot, uint64_t least, const Descriptor &call);

  /// Ends the world with a failure; gives its first.
  Failure fail(Failure failure);

  /// With the mutex held.
  void wakeAll() { changed.notify_all(); }

private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Wake { Done, Failed, Late };

  bool spin(const std::atomic<uint64_t> &word, uint64_t least) const;
  template <typename IsOver> Wake park(Lock &lock, IsOver isOver);
  void wakeParked();
  Error completeEntry(cprt_context &context, size_t slot, Participant &mine);
  Error waitForEntry(cprt_context &context, size_t slot, Participant &mine,
                     uint64_t next);
  bool withdraw(Lock &lock, size_t slot, uint64_t next);
  void completeExit();
  Error findMismatch(const Participant &mine, int64_t rank) const;
  Error findCycle(const Descriptor &call, int64_t rank) const;
  Failure lateFailure(const Descriptor &call, int64_t rank) const;
  /// Who has not entered; `except` is not named.
  std::vector<int64_t> missingRanks(int64_t except = -1) const;
  static bool waitsFor(ThreadWorld &world, int64_t waiter, int64_t target);
  Failure spread(Failure failure);

  ThreadWorld &world;
  const std::vector<int64_t> ranks;
  /// Atomic since the last to leave clears them while ranks of other meetings
  /// look who waits for whom.
  std::vector<std::atomic<Participant *>> participants;
  /// Counts to all of them, and is 0 again when they are let in.
  alignas(64) std::atomic<size_t> numEntered{0};
  alignas(64) std::atomic<size_t> numDeparted{0};
  /// How many collectives all ranks have entered and left. A line each: who
  /// waits for one of them looks at nothing that others are about to write.
  alignas(64) std::atomic<uint64_t> entries{0};
  alignas(64) std::atomic<uint64_t> exits{0};
  /// Ranks that have parked here, whatever they wait for. Who parks says so
  /// before it looks for the last time; who has something to say looks behind
  /// it.
  alignas(64) std::atomic<int64_t> numParked{0};
  std::condition_variable changed;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_THREADS_MEETING_H
