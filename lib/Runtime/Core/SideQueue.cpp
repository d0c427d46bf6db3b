//===- SideQueue.cpp - Calls that go on while a device computes -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideQueue.h"

#include "World.h"

#include <algorithm>

using namespace cp::runtime;

SideQueue::SideQueue(Context &context)
    : context(context), twin(context.world, context.rank, context.history) {
  twin.isDeferred = true;
}

Error SideQueue::open(Context &context, std::unique_ptr<SideQueue> &made) {
  std::unique_ptr<SideQueue> side(new SideQueue(context));
  std::unique_ptr<DeviceQueue> queue;
  if (Error failure = context.queue->openBeside(queue))
    return failure;
  side->twin.takeQueue(std::move(queue));
  made = std::move(side);
  return std::nullopt;
}

SideQueue::~SideQueue() {
  auto forget = [&](void *event) {
    if (event)
      context.queue->forget(event);
  };
  for (const Errand &errand : errands)
    forget(errand.event);
  std::for_each(spare.begin(), spare.end(), forget);
  forget(given);
}

/// Null for a new one, which recording makes.
void *SideQueue::takeEvent() {
  if (spare.empty())
    return nullptr;
  void *event = spare.back();
  spare.pop_back();
  return event;
}

Error SideQueue::begin(cprt_op *op, const int64_t *desc, void *const *buffers,
                       size_t count) {
  if (Error failure = context.queue->record(given))
    return failure;
  if (Error failure = twin.queue->waitFor(given))
    return failure;
  op(&twin, nullptr, desc, buffers);
  for (const cprt_counter &moved : twin.counters.take())
    context.counters.add(moved);
  errands.push_back({{buffers + desc[0], buffers + count}, takeEvent()});
  if (Error failure = twin.queue->record(errands.back().event))
    return failure;
  if (!twin.hasFailed())
    return std::nullopt;
  // What of it has been started may go on, and nobody waits for it any more.
  if (Error failure = context.queue->waitFor(errands.back().event))
    return failure;
  return Failure{cprt_context_status(&twin), cprt_context_message(&twin)};
}

Error SideQueue::wait(void *const *outs, size_t count) {
  auto last =
      std::find_if(errands.rbegin(), errands.rend(), [&](const Errand &errand) {
        return std::find_first_of(errand.outs.begin(), errand.outs.end(), outs,
                                  outs + count) != errand.outs.end();
      });
  if (last == errands.rend())
    return std::nullopt;
  // Null where it could not be marked, which is the rank's failure.
  if (last->event)
    if (Error failure = context.queue->waitFor(last->event))
      return failure;
  // Those before it are done when it is.
  auto end = last.base();
  for (auto each = errands.begin(); each != end; ++each)
    if (each->event)
      spare.push_back(each->event);
  errands.erase(errands.begin(), end);
  return std::nullopt;
}
