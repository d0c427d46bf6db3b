//===- Context.cpp - One rank's place in a world --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"

#include "Courier.h"
#include "Scratch.h"
#include "SideQueue.h"
#include "World.h"

#include <new>

using namespace cp::runtime;

/// What the other ranks are told. Falls back to a text that needs no heap: a
/// failure must reach them in any case.
static std::string peerText(int64_t rank, cprt_status status,
                            const std::string &message) try {
  return "rank " + std::to_string(rank) + " failed with " +
         cprt_status_name(status) + ": " + message;
} catch (const std::bad_alloc &) {
  return "a rank failed";
}

cprt_context::cprt_context(cprt_world &world, int64_t rank,
                           std::shared_ptr<History> shared)
    : world(world), rank(rank),
      history(shared ? std::move(shared) : std::make_shared<History>()) {}

Error cprt_context::openQueue(int64_t number) {
  memory.takeFrom(world.allocator);
  handed.takeFrom(world.allocator);
  if (!world.device)
    return std::nullopt;
  std::unique_ptr<DeviceQueue> opened;
  if (Error failure =
          DeviceQueue::open(*world.device, number, world.allocator, opened))
    return failure;
  takeQueue(std::move(opened));
  return std::nullopt;
}

void cprt_context::takeQueue(std::unique_ptr<DeviceQueue> opened) {
  queue = std::move(opened);
  memory.moveTo(*queue);
  handed.moveTo(*queue);
}

cprt_context::~cprt_context() = default;

void cprt_context::fail(cprt_status failure, std::string text) {
  std::lock_guard<std::mutex> lock(world.mutex);
  if (hasFailed())
    return;
  message = std::move(text);
  status.store(failure, std::memory_order_release);
  world.spread({CPRT_PEER_FAILED, peerText(rank, failure, message)});
}

/// The text is short enough.
void cp::runtime::failOutOfMemory(Context &context) {
  context.fail(CPRT_OUT_OF_MEMORY, "out of memory");
}

void Entry::refuse() {
  try {
    context.fail(CPRT_INVALID_ARGUMENT,
                 std::string(call) +
                     ": another call is inside this context, expected one "
                     "after the other; give each rank a thread of its own");
  } catch (const std::bad_alloc &) {
    failOutOfMemory(context);
  }
}

namespace {
/// Counts for a rank what its thread allocates meanwhile outside of its Memory.
class ThreadAllocations {
public:
  explicit ThreadAllocations(Memory &memory) : memory(memory), before(now()) {}
  ~ThreadAllocations() { memory.countAllocations(now() - before); }

private:
  static int64_t now() {
    return cp::kernels::numScratchAllocations() + numPoolAllocations();
  }
  Memory &memory;
  int64_t before;
};
} // namespace

void cp::runtime::runOp(Context *context, const cprt_stream *stream,
                        const int64_t *desc, void *const *buffers,
                        const cprt_signature &signature, const OpBody &body) {
  if (!context || context->hasFailed())
    return;
  Entry entry(*context, signature.name);
  if (!entry)
    return;
  if (context->recording && context->deviceOfCall() &&
      context->recording->skip(desc))
    return;
  ThreadAllocations counted(context->memory);
  cp::kernels::setNumThreads(context->world.threads);
  context->recorded = -1;
  bool hasFailed = false;
  try {
    Error failure = context->call.decode(signature.name, desc, buffers);
    if (!failure && stream)
      failure = context->call.invalid(
          "the stream is not null, expected null: a context has one order of "
          "its own");
    if (!failure)
      failure = checkSignature(context->call, signature);
    if (!failure)
      failure = context->deviceOfCall()
                    ? runOnDevice(*context, context->call, body)
                    : body(*context, context->call);
    hasFailed = failure.has_value();
    if (failure)
      context->fail(failure->status, std::move(failure->message));
  } catch (const std::bad_alloc &) {
    hasFailed = true;
    failOutOfMemory(*context);
  }
  if (hasFailed)
    context->history->markUnfinished(context->recorded);
}

extern "C" int64_t cprt_context_rank(const cprt_context *context) {
  return context ? context->rank : -1;
}

extern "C" cprt_status cprt_context_status(const cprt_context *context) {
  return context ? context->status.load(std::memory_order_acquire)
                 : CPRT_INVALID_ARGUMENT;
}

extern "C" const char *cprt_context_message(const cprt_context *context) {
  if (!context)
    return "the context is null";
  return context->hasFailed() ? context->message.c_str() : "";
}

extern "C" void cprt_context_fail(cprt_context *context, cprt_status status,
                                  const char *message) {
  if (!context)
    return;
  bool isFailure = status > CPRT_OK && status <= CPRT_DEVICE_FAILED;
  try {
    context->fail(isFailure ? status : CPRT_INVALID_ARGUMENT,
                  message ? message : "");
  } catch (const std::bad_alloc &) {
    failOutOfMemory(*context);
  }
}

extern "C" int64_t cprt_context_peak_bytes(const cprt_context *context) {
  return context ? context->memory.peakBytes() : 0;
}

extern "C" int64_t cprt_context_allocations(const cprt_context *context) {
  if (!context)
    return 0;
  int64_t count = context->memory.numAllocations();
  if (const Courier *courier = context->courier.get())
    count += courier->memory().numAllocations();
  if (const SideQueue *side = context->side.get())
    count += side->memory().numAllocations();
  return count;
}

/// Does something to the recording under way, if there is one.
static bool changeRecording(Context &context, Error (Recording::*change)()) {
  if (!context.recording)
    return true;
  try {
    Error failure = (context.recording->*change)();
    if (failure)
      context.fail(failure->status, std::move(failure->message));
    return !failure;
  } catch (const std::bad_alloc &) {
    failOutOfMemory(context);
    return false;
  }
}

/// What cprt_alloc and cprt_arena, which `call` names, share.
static void *allocate(Context &context, const char *call, int64_t bytes) {
  try {
    void *pointer = context.memory.allocate(bytes);
    if (!pointer)
      context.fail(CPRT_OUT_OF_MEMORY,
                   std::string(call) + ": no " + std::to_string(bytes) +
                       " bytes left; use more ranks or a shorter sequence");
    return pointer;
  } catch (const std::bad_alloc &) {
    failOutOfMemory(context);
    return nullptr;
  }
}

/// Whether that many bytes can be asked for; fails the context otherwise.
static bool isSize(Context &context, const char *call, int64_t bytes) {
  if (bytes >= 0)
    return true;
  try {
    context.fail(CPRT_INVALID_ARGUMENT, std::string(call) + ": found " +
                                            std::to_string(bytes) +
                                            " bytes, expected 0 or more");
  } catch (const std::bad_alloc &) {
    failOutOfMemory(context);
  }
  return false;
}

extern "C" void *cprt_alloc(cprt_context *context, int64_t bytes) {
  if (!context || context->hasFailed())
    return nullptr;
  Entry entry(*context, "alloc");
  if (!entry || !isSize(*context, "alloc", bytes) ||
      !changeRecording(*context, &Recording::giveUp))
    return nullptr;
  return allocate(*context, "alloc", bytes);
}

extern "C" void *cprt_arena(cprt_context *context, int64_t bytes) {
  if (!context || context->hasFailed())
    return nullptr;
  Entry entry(*context, "arena");
  if (!entry || !isSize(*context, "arena", bytes))
    return nullptr;
  if (context->arena && bytes <= context->arenaBytes)
    return context->arena;
  // What has been recorded is of the one that goes.
  bool isKept = context->recording && !context->recording->isFirstRun();
  if (isKept && !changeRecording(*context, &Recording::giveUp))
    return nullptr;
  context->recordings.remove_if(
      [&](const Recording &each) { return &each != context->recording; });
  if (context->arena)
    context->memory.release(context->arena);
  context->arena = allocate(*context, "arena", bytes);
  context->arenaBytes = context->arena ? bytes : 0;
  return context->arena;
}

extern "C" void cprt_free(cprt_context *context, void *pointer) {
  if (!context || context->hasFailed() || !pointer)
    return;
  Entry entry(*context, "free");
  if (!entry || !changeRecording(*context, &Recording::giveUp))
    return;
  // The arena is the context's: its next program would work on freed memory.
  if (pointer == context->arena || !context->memory.release(pointer))
    context->fail(CPRT_INVALID_ARGUMENT,
                  "free: expected a pointer that cprt_alloc gave this rank, "
                  "found another or one freed before");
}

extern "C" void cprt_launch(cprt_context *context, cprt_stream *stream,
                            void (*kernel)(void *const *buffers),
                            void *const *buffers) {
  if (!context || context->hasFailed())
    return;
  Entry entry(*context, "launch");
  if (!entry)
    return;
  if (!kernel || stream) {
    context->fail(CPRT_INVALID_ARGUMENT,
                  "launch: expected a kernel and a null stream");
    return;
  }
  if (context->queue && !context->queue->isHostMemory()) {
    context->fail(CPRT_UNSUPPORTED,
                  "launch: the program was compiled for processors alone; "
                  "compile it with --device");
    return;
  }
  // The host's code runs each time.
  if (context->queue && !changeRecording(*context, &Recording::cut))
    return;
  kernel(buffers);
}
