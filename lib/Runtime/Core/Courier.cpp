//===- Courier.cpp - Calls that go on while a rank computes ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Courier.h"

#include "Clock.h"
#include "SideQueue.h"
#include "World.h"

#include <algorithm>
#include <new>

using namespace cp::runtime;

bool Courier::Errand::writes(void *const *outs, size_t number) const {
  auto first = buffers.end() - std::ptrdiff_t(numOuts);
  return std::find_first_of(first, buffers.end(), outs, outs + number) !=
         buffers.end();
}

Courier::Courier(Context &context)
    : context(context), twin(context.world, context.rank, context.history) {
  twin.isDeferred = twin.isBackground = true;
  thread = std::thread([this] { run(); });
}

Courier::~Courier() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  changed.notify_all();
  thread.join();
}

void Courier::begin(cprt_op *op, const int64_t *desc, void *const *buffers,
                    size_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  std::list<Errand> made;
  if (spare.empty())
    made.emplace_back();
  else
    made.splice(made.begin(), spare, spare.begin());
  Errand &errand = made.front();
  errand.op = op;
  errand.desc = desc;
  errand.buffers.assign(buffers, buffers + count);
  errand.numOuts = size_t(desc[1]);
  errand.isDone = false;
  errand.count = {};
  errand.recorded = -1;
  errands.splice(errands.end(), made);
  changed.notify_all();
}

void Courier::wait(void *const *outs, size_t count) {
  Clock::time_point start = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  auto last =
      std::find_if(errands.rbegin(), errands.rend(), [&](const Errand &errand) {
        return errand.writes(outs, count);
      });
  if (last == errands.rend())
    return;
  // Behind it in the list; those before it are done when it is.
  auto end = last.base();
  changed.wait(lock, [&] { return last->isDone; });
  std::chrono::duration<double> waited = Clock::now() - start;
  settle(*last, waited.count());
  for (auto each = errands.begin(); std::next(each) != end; ++each)
    settle(*each, 0);
  spare.splice(spare.end(), errands, errands.begin(), end);
}

/// Adds what an errand moved to what the rank has moved.
void Courier::settle(const Errand &errand, double exposedSeconds) {
  if (!errand.count.op)
    return;
  cprt_counter moved = errand.count;
  moved.exposed_seconds = exposedSeconds;
  context.counters.add(moved);
  context.history->expose(errand.recorded, exposedSeconds);
}

void Courier::make(Errand &errand) {
  twin.recorded = -1;
  errand.op(&twin, nullptr, errand.desc, errand.buffers.data());
  // Of each call there is one.
  for (const cprt_counter &moved : twin.counters.take())
    errand.count = moved;
  errand.recorded = twin.recorded;
  if (twin.hasFailed())
    context.fail(cprt_context_status(&twin), cprt_context_message(&twin));
}

void Courier::run() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    auto next = std::find_if(errands.begin(), errands.end(),
                             [](const Errand &each) { return !each.isDone; });
    if (next == errands.end()) {
      if (isOver)
        return;
      changed.wait(lock);
      continue;
    }
    lock.unlock();
    try {
      make(*next);
    } catch (const std::bad_alloc &) {
      failOutOfMemory(context);
    }
    lock.lock();
    next->isDone = true;
    changed.notify_all();
  }
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

/// What a table of an operation says of its buffers, if it can be one.
static bool readCounts(const int64_t *desc, size_t &all) {
  if (!desc || desc[0] < 0 || desc[1] < 0 || desc[0] > INT32_MAX ||
      desc[1] > INT32_MAX)
    return false;
  all = size_t(desc[0]) + size_t(desc[1]);
  return true;
}

static Error beginBeside(Context &context, cprt_op *op, const int64_t *desc,
                         void *const *buffers, size_t count) {
  if (context.recording)
    if (Error failure = context.recording->cut())
      return failure;
  if (!context.side)
    if (Error failure = SideQueue::open(context, context.side))
      return failure;
  return context.side->begin(op, desc, buffers, count);
}

extern "C" void cprt_begin(cprt_context *context, cprt_stream *stream,
                           const int64_t *desc, void *const *buffers,
                           cprt_op *op) {
  if (!context || context->hasFailed())
    return;
  size_t count = 0;
  if (!op)
    return cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                             "begin: the operation is null");
  // What is wrong with a call, its operation says.
  bool goesBeside = context->queue && context->world.followsOnDevice() &&
                    context->queue->opensBeside();
  bool isDeferred = context->queue ? goesBeside : context->world.defers();
  if (!isDeferred || stream || !buffers || !readCounts(desc, count))
    return op(context, stream, desc, buffers);
  Entry entry(*context, "begin");
  if (!entry)
    return;
  try {
    if (goesBeside) {
      if (Error failure = beginBeside(*context, op, desc, buffers, count))
        context->fail(failure->status, std::move(failure->message));
      return;
    }
    if (!context->courier)
      context->courier = std::make_unique<Courier>(*context);
    context->courier->begin(op, desc, buffers, count);
  } catch (const std::bad_alloc &) {
    failOutOfMemory(*context);
  } catch (const std::system_error &error) {
    context->fail(CPRT_OUT_OF_MEMORY,
                  std::string("begin: no thread for calls that go on: ") +
                      error.what());
  }
}

extern "C" void cprt_wait(cprt_context *context, cprt_stream *stream,
                          const int64_t *desc, void *const *buffers) {
  size_t count = 0;
  (void)stream;
  if (!context || !buffers || !readCounts(desc, count))
    return;
  void *const *outs = buffers + desc[0];
  // After a failure too: what is under way has the buffers until it ends.
  if (context->courier)
    context->courier->wait(outs, size_t(desc[1]));
  if (!context->side)
    return;
  try {
    Error failure;
    if (Recording *recording = context->recording)
      failure = context->hasFailed() ? recording->abandon() : recording->cut();
    if (Error other = context->side->wait(outs, size_t(desc[1])); !failure)
      failure = std::move(other);
    if (failure)
      context->fail(failure->status, "wait: " + failure->message);
  } catch (const std::bad_alloc &) {
    failOutOfMemory(*context);
  }
}
