//===- ThreadWorld.cpp - Ranks that share a process -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadWorld.h"

#include "DirectChannel.h"

#include "Core/CText.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>

using namespace cp::runtime;

/// A thread each: more is a mistake.
static constexpr int64_t maxThreadRanks = 4096;
static constexpr int64_t maxKernelThreads = 1024;
/// A year; keeps sums of times far from overflow.
static constexpr int64_t maxDeadlineMs = 365LL * 24 * 3600 * 1000;

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

static Failure invalid(std::string text) {
  return {CPRT_INVALID_ARGUMENT, std::move(text)};
}

static Error checkOptions(const cprt_options &options) {
  int32_t axes = options.num_axes;
  if (axes < 0 || axes > 64 || (axes > 0 && !options.axis_sizes))
    return invalid("num_axes is " + std::to_string(axes) +
                   ", expected 0 to 64, with axis_sizes unless it is 0");
  if (options.deadline_ms < 0 || options.deadline_ms > maxDeadlineMs)
    return invalid("deadline_ms is " + std::to_string(options.deadline_ms) +
                   ", expected 0 (default) to " +
                   std::to_string(maxDeadlineMs));
  // A C caller may have stored any number: copied, not read as an enum.
  unsigned set = 0;
  static_assert(sizeof(set) == sizeof(options.kernels));
  std::memcpy(&set, &options.kernels, sizeof(set));
  if (set != CPRT_KERNELS_FAST && set != CPRT_KERNELS_REFERENCE)
    return invalid("kernels is " + std::to_string(set) +
                   ", expected a cprt_kernel_set (0 or 1)");
  if (options.threads < 0 || options.threads > maxKernelThreads)
    return invalid("threads is " + std::to_string(options.threads) +
                   ", expected 0 (share the processors) to " +
                   std::to_string(maxKernelThreads));
  return std::nullopt;
}

static void shareProcessors(int64_t threads, ThreadWorld &world) {
  int64_t ranks = world.mesh.numRanks();
  // Unknown is 0.
  int64_t processors =
      std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  world.threads = threads ? threads : std::max<int64_t>(processors / ranks, 1);
  world.oversubscribed = ranks * world.threads > processors;
}

static Error fillWorld(const cprt_options &options, ThreadWorld &world) {
  for (int32_t i = 0; i < options.num_axes; ++i)
    world.mesh.axes.push_back(
        {"axis" + std::to_string(i), options.axis_sizes[i]});
  if (std::optional<std::string> wrong = cp::check(world.mesh))
    return invalid(*wrong);
  int64_t ranks = world.mesh.numRanks();
  if (ranks > maxThreadRanks)
    return invalid("the mesh has " + std::to_string(ranks) +
                   " ranks, expected at most " +
                   std::to_string(maxThreadRanks) +
                   " threads; use a backend of processes");
  if (options.deadline_ms)
    world.deadline = std::chrono::milliseconds(options.deadline_ms);
  if (options.kernels == CPRT_KERNELS_REFERENCE)
    world.kernelSet = cp::kernels::KernelSet::Reference;
  shareProcessors(options.threads, world);
  world.seen.resize(size_t(ranks));
  world.waiting.resize(size_t(ranks));
  for (int64_t rank = 0; rank < ranks; ++rank)
    world.contexts.push_back(std::make_unique<cprt_context>(world, rank));
  return std::nullopt;
}

extern "C" cprt_status cprt_threads_create(const cprt_options *options,
                                           cprt_world **world, char *message,
                                           size_t capacity) {
  if (world)
    *world = nullptr;
  return reportToC("threads_create", message, capacity, [&]() -> Error {
    cprt_options read = {};
    if (Error failure =
            readSizedOptions(options, offsetof(cprt_options, deadline_ms),
                             "cprt_options", &read, sizeof(read)))
      return failure;
    if (Error failure = checkOptions(read))
      return failure;
    if (!world)
      return invalid("the place for the world is null");
    auto made = std::make_unique<ThreadWorld>();
    if (Error failure = fillWorld(read, *made))
      return failure;
    *world = made.release();
    return std::nullopt;
  });
}
