//===- Exchange.cpp - One collective, from entering to leaving ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives/Exchange.h"
#include "Meeting.h"

using namespace cp::runtime;

Exchange::Exchange(Context &context, const Descriptor &call, const Group &group)
    : context(context), group(group) {
  mine.call = &call;
  mine.counter = &context.counters.at(call.op(), group.axesMask);
}

Error Exchange::enter() {
  if (group.meeting)
    if (Error failure =
            group.meeting->enter(context, group.slot(group.position), mine))
      return failure;
  isInside = group.meeting != nullptr;
  ++mine.counter->calls;
  return std::nullopt;
}

void Exchange::depart() {
  if (isInside && !hasDeparted)
    departure = group.meeting->depart();
  hasDeparted = true;
}

void Exchange::leave() {
  depart();
  if (isInside)
    group.meeting->leave(departure);
  isInside = false;
}

Participant &Exchange::at(int64_t position) const {
  return position == group.position ? mine
                                    : group.meeting->at(group.slot(position));
}

void Exchange::took(int64_t position, int64_t bytes) const {
  if (position != group.position)
    at(position).counter->bytesSent.fetch_add(bytes, std::memory_order_relaxed);
}

void Exchange::publish(uint64_t progress) {
  if (group.meeting)
    group.meeting->publish(mine, progress);
}

Error Exchange::await(int64_t position, uint64_t progress) const {
  if (position == group.position)
    return std::nullopt;
  return group.meeting->awaitProgress(group.slot(position), progress,
                                      *mine.call);
}
