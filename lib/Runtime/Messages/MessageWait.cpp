//===- MessageWait.cpp - What a rank does while it waits ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageWait.h"

#include "MessageWorld.h"

#include <algorithm>
#include <thread>

using namespace cp::runtime;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// For what a rank has sent before it left.
static constexpr milliseconds departureGrace{1000};
/// For what a rank says whose messages have ended.
static constexpr milliseconds explanationTime{300};
/// For how long a rank that waits does nothing else.
static constexpr milliseconds eagerness{2};
static constexpr microseconds nap{50};

/// A peer that fails ends its messages too, and what it says of it comes by
/// another way, which may be longer.
Failure MessageWait::failureOfTransport(cprt_status status,
                                        const std::string &text) {
  Clock::time_point last = Clock::now() + explanationTime;
  while (status == CPRT_PEER_FAILED || status == CPRT_UNSUPPORTED) {
    if (world.hasFailed())
      return world.failure();
    if (Clock::now() >= last)
      break;
    std::this_thread::sleep_for(nap);
  }
  return world.end(
      {status, call.title() + ": " + world.transport.name + ": " + text});
}

Failure MessageWait::lateFailure(int64_t peer) {
  int64_t rank = asks() ? world.whereabouts->absentRank(peer) : peer;
  return world.end(
      {CPRT_TIMEOUT, call.title() + ": waited " +
                         std::to_string(world.deadline.count()) +
                         " ms for ranks " + listText(&rank, 1) +
                         "; look at what they do, or raise the deadline"});
}

Failure MessageWait::departedFailure(int64_t peer) {
  return world.end({CPRT_PEER_FAILED,
                    call.title() + ": rank " + std::to_string(peer) +
                        " has left, which this call waits for; look at what it "
                        "said"});
}

Error MessageWait::test(Posted &posted, bool &isDone) {
  std::string text;
  cprt_status status = world.wire.test(&posted.request, isDone, text);
  if (status != CPRT_OK) {
    posted.request = nullptr;
    return failureOfTransport(status, text);
  }
  if (isDone)
    posted.request = nullptr;
  return std::nullopt;
}

void MessageWait::askAbout(int64_t peer) {
  world.whereabouts->askAbout(peer, ranks, call);
}

/// Looks around while `peer` is waited for, since `start`: asks where it is, at
/// `ask` and then ever more seldom. What ends the wait.
Error MessageWait::lookAround(int64_t peer, Clock::time_point start,
                              Clock::time_point &ask, milliseconds &patience) {
  if (world.hasFailed())
    return world.failure();
  Clock::time_point now = Clock::now();
  if (now >= ask && asks()) {
    world.whereabouts->waitFor(peer, ranks, call);
    patience = std::min(2 * patience, rarestAsking);
    ask = now + patience;
  }
  // A device may come late to what was sent in time.
  if (kind != Kind::Behind && now - start >= departureGrace &&
      world.hasLeft(peer))
    return departedFailure(peer);
  if (now - start >= world.deadline)
    return lateFailure(peer);
  if (now - start >= eagerness || kind == Kind::Deferred)
    std::this_thread::sleep_for(nap);
  return std::nullopt;
}

Error MessageWait::until(FunctionRef<Error(bool &isDone)> turn, int64_t peer) {
  milliseconds patience = std::min(longestPatience, world.deadline / 8);
  Clock::time_point start = Clock::now(), ask = start + patience;
  Error failure;
  for (uint64_t turns = 0;; ++turns) {
    bool isDone = false;
    failure = turn(isDone);
    if (failure || isDone)
      break;
    if (world.oversubscribed)
      std::this_thread::yield();
    else if (turns < 64)
      continue;
    failure = lookAround(peer, start, ask, patience);
    if (failure)
      break;
  }
  if (asks())
    world.whereabouts->stopWaiting();
  return failure;
}

Error MessageWait::wait(Posted &posted) {
  if (!posted.request)
    return std::nullopt;
  return until([&](bool &isDone) { return test(posted, isDone); }, posted.peer);
}

Error MessageWait::follow(Posted &posted, void *queue) {
  if (!posted.request)
    return std::nullopt;
  auto turn = [&](bool &isDone) -> Error {
    std::string text;
    cprt_status status = world.wire.follow(queue, posted.request, isDone, text);
    return status == CPRT_OK ? Error() : failureOfTransport(status, text);
  };
  return until(turn, posted.peer);
}
