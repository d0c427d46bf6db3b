//===- ThreadWorld.cpp - Ranks that share a process -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadWorld.h"

#include "DirectChannel.h"

#include "Core/CText.h"
#include "Core/WorldOptions.h"

#include <algorithm>

using namespace cp::runtime;

/// A thread each: more is a mistake.
static constexpr int64_t maxThreadRanks = 4096;

Meeting &ThreadWorld::meetingOf(const std::vector<int64_t> &ranks) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Meeting> &meeting = meetings[ranks];
  if (!meeting)
    meeting = std::make_unique<Meeting>(*this, ranks);
  return *meeting;
}

std::unique_ptr<Channel>
ThreadWorld::openChannel(cprt_context &context,
                         const std::vector<int64_t> &ranks, int64_t position) {
  std::vector<int64_t> ascending = ranks;
  std::sort(ascending.begin(), ascending.end());
  std::vector<size_t> slots;
  for (int64_t rank : ranks)
    slots.push_back(
        size_t(std::lower_bound(ascending.begin(), ascending.end(), rank) -
               ascending.begin()));
  return std::make_unique<DirectChannel>(context, meetingOf(ascending),
                                         std::move(slots), position);
}

void ThreadWorld::spread(Failure first) {
  if (hasFailure.load(std::memory_order_relaxed))
    return;
  failure = std::move(first);
  hasFailure.store(true, std::memory_order_release);
  for (auto &[ranks, meeting] : meetings)
    meeting->wakeAll();
}

static Error fillWorld(const cprt_options &options, ThreadWorld &world) {
  if (Error failure = applyOptions(options, maxThreadRanks,
                                   "threads; use a world of processes", world))
    return failure;
  int64_t ranks = world.mesh.numRanks();
  world.oversubscribed = shareProcess(options, ranks, world);
  world.seen.resize(size_t(ranks));
  world.waiting.resize(size_t(ranks));
  const cprt_device *device = world.device;
  int64_t first = world.firstCard.value_or(0);
  world.sharesDevice = device && device->shares_memory;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    world.sharesDevice =
        world.sharesDevice &&
        device->shares_memory(device->state, first + rank, first);
    world.contexts.push_back(std::make_unique<cprt_context>(world, rank));
    if (Error failure = world.contexts.back()->openQueue(first + rank))
      return failure;
  }
  return std::nullopt;
}

extern "C" cprt_status cprt_threads_create(const cprt_options *options,
                                           cprt_world **world, char *message,
                                           size_t capacity) {
  if (world)
    *world = nullptr;
  return reportToC("threads_create", message, capacity, [&]() -> Error {
    cprt_options read;
    if (Error failure = readOptions(options, read))
      return failure;
    if (!world)
      return Failure{CPRT_INVALID_ARGUMENT, "the place for the world is null"};
    auto made = std::make_unique<ThreadWorld>();
    if (Error failure = fillWorld(read, *made))
      return failure;
    *world = made.release();
    return std::nullopt;
  });
}
