//===- ThreadWorld.cpp - Ranks that share a process -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadWorld.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
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

void ThreadWorld::spread(Failure first) {
  if (hasFailure.load(std::memory_order_relaxed))
    return;
  failure = std::move(first);
  hasFailure.store(true, std::memory_order_release);
  for (auto &[ranks, meeting] : meetings)
    meeting->wakeAll();
}

static Failure invalid(std::string text) {
  return {CPRT_INVALID_ARGUMENT, "threads_create: " + std::move(text)};
}

/// The caller's options as this library knows them. A caller that was compiled
/// with an older cprt.h has fewer fields, one with a newer one more. New fields
/// go behind the last: padding of an older caller may hold anything.
static Error readOptions(const cprt_options *options, cprt_options &read) {
  if (!options)
    return invalid("the options are null, expected a cprt_options");
  constexpr size_t least = offsetof(cprt_options, deadline_ms), most = 4096;
  size_t size = options->struct_size;
  if (size < least || size > most || size % alignof(cprt_options) != 0)
    return invalid("struct_size is " + std::to_string(size) + ", expected " +
                   std::to_string(sizeof(read)) +
                   ", the sizeof(cprt_options) of this library, or that of an "
                   "older or newer cprt.h");
  const char *bytes = reinterpret_cast<const char *>(options);
  const char *tail = bytes + std::min(size, sizeof(read));
  if (std::any_of(tail, bytes + size, [](char byte) { return byte != 0; }))
    return invalid("struct_size is " + std::to_string(size) + ", and behind " +
                   std::to_string(sizeof(read)) +
                   " bytes, which are what this library knows, an option is "
                   "not zero; link the runtime that belongs to the caller's "
                   "cprt.h, or leave that option at its default");
  std::memcpy(&read, options, std::min(size, sizeof(read)));
  return std::nullopt;
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

static void copyText(const std::string &text, char *message, size_t capacity) {
  if (!message || !capacity)
    return;
  size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

extern "C" cprt_status cprt_threads_create(const cprt_options *options,
                                           cprt_world **world, char *message,
                                           size_t capacity) {
  copyText("", message, capacity);
  if (world)
    *world = nullptr;
  try {
    cprt_options read = {};
    Error failure = readOptions(options, read);
    if (!failure)
      failure = checkOptions(read);
    if (!failure && !world)
      failure = invalid("the place for the world is null");
    auto made = std::make_unique<ThreadWorld>();
    if (!failure)
      failure = fillWorld(read, *made);
    if (!failure) {
      *world = made.release();
      return CPRT_OK;
    }
    copyText(failure->message, message, capacity);
    return failure->status;
  } catch (const std::bad_alloc &) {
    return CPRT_OUT_OF_MEMORY;
  }
}
