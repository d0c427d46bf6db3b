//===- Exchange.cpp - One collective, from entering to leaving ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"

using namespace cp::runtime;

Exchange::Exchange(Context &context, const Descriptor &call, const Group &group,
                   char *staged)
    : context(context), call(call), group(group),
      visit{call, context.counters.at(call.op(), group.axesMask), staged,
            /*countsMoves=*/true, context.deviceOfCall()},
      start(Clock::now()) {}

Exchange::~Exchange() {
  leave();
  if (!group.channel)
    return;
  Clock::duration taken = Clock::now() - start, exposed = taken - worked;
  // Of a deferred call it is the time that the rank waits for it.
  if (context.isBackground)
    exposed = Clock::duration(0);
  visit.counter.exposedNanoseconds.fetch_add(
      std::chrono::nanoseconds(exposed).count(), std::memory_order_relaxed);
  if (number >= 0)
    context.history->end(
        number, taken, exposed,
        visit.counter.bytesSent.load(std::memory_order_relaxed) - bytesBefore);
}

/// What runs beside a program (ids below 0) is none of its history.
void Exchange::record() {
  if (call.id() < 0)
    return;
  cprt_record begun = {};
  begun.op = call.op();
  begun.axes = group.axesMask;
  begun.id = call.id();
  begun.is_deferred = context.isDeferred;
  bytesBefore = visit.counter.bytesSent.load(std::memory_order_relaxed);
  number = context.recorded = context.history->begin(begun, start);
}

Error Exchange::enter(MovesFn first) {
  moves = first;
  if (group.channel) {
    record();
    if (Error failure = group.channel->enter(visit, moves))
      return failure;
    isInside = true;
  }
  ++visit.counter.calls;
  return std::nullopt;
}

Error Exchange::nextRound(MovesFn next) {
  moves = next;
  return group.channel ? told(group.channel->nextRound(moves)) : std::nullopt;
}

Error Exchange::take(int64_t from, Taken &taken) {
  taken.moves.clear();
  taken.views.clear();
  if (!moves)
    return std::nullopt;
  if (!isOwn(from))
    return told(group.channel->take(from, taken));
  moves(from, from, taken.moves);
  for (const Move &move : taken.moves)
    taken.views.push_back({call.allBuffers()[move.source], &move.maps, false});
  return std::nullopt;
}

Error Exchange::pull(int64_t from) {
  Taken taken;
  if (Error failure = take(from, taken))
    return failure;
  for (size_t i = 0; i < taken.moves.size(); ++i) {
    const Taken::View &view = taken.views[i];
    if (view.isThere)
      continue;
    if (Error failure =
            told(copyMapped(visit.queue, call, *taken.moves[i].target,
                            view.buffer, *view.maps)))
      return failure;
  }
  return std::nullopt;
}

Error Exchange::pullAll() {
  for (int64_t step = 1; step < group.size; ++step)
    if (Error failure = pull((group.position + step) % group.size))
      return failure;
  depart();
  return pull(group.position);
}

Error Exchange::takeAll(List<Taken> &all) {
  for (int64_t from = 0; from < group.size; ++from) {
    all.emplace_back();
    if (Error failure = take(from, all.back()))
      return failure;
  }
  return std::nullopt;
}

Error cp::runtime::packOnDevice(DeviceQueue &device, const Descriptor &call,
                                const List<Taken> &all, size_t number,
                                char *memory, int64_t row) {
  for (const Taken &each : all) {
    const Taken::View &view = each.views[number];
    Packed packed(view.buffer, *view.maps);
    if (Error failure = device.copyMapped(call, packed.at(memory), view.buffer,
                                          packed.packing()))
      return failure;
    memory += row;
  }
  return std::nullopt;
}

Error Exchange::told(Error failure) {
  if (failure && isInside)
    context.fail(failure->status, failure->message);
  return failure;
}

Failure Exchange::failAll(Failure failure) {
  return group.channel ? group.channel->failAll(std::move(failure)) : failure;
}

void Exchange::depart() {
  if (isInside && !hasDeparted)
    group.channel->depart();
  hasDeparted = true;
}

void Exchange::leave() {
  depart();
  if (isInside)
    group.channel->leave();
  isInside = false;
}

Exchange::Work::Work(Exchange &exchange)
    : exchange(exchange), start(Clock::now()) {
  if (exchange.isInside)
    exchange.group.channel->beginWork();
}

Exchange::Work::~Work() {
  if (exchange.isInside)
    exchange.group.channel->endWork();
  exchange.worked += Clock::now() - start;
}

void Exchange::offer(int64_t to, Piece piece, Lane lane) {
  if (!isOwn(to) && piece.bytes)
    group.channel->offer(to, visit.staged + piece.offset, piece.bytes, lane);
}

Error Exchange::publish(uint64_t progress) {
  return group.channel ? group.channel->publish(progress) : std::nullopt;
}

Error Exchange::reclaim(Lane lane, int64_t pending) {
  return group.channel ? group.channel->reclaim(lane, pending) : std::nullopt;
}

Error Exchange::window(int64_t from, Piece piece, const char *&data) const {
  if (!isOwn(from))
    return group.channel->window(from, piece, data);
  data = visit.staged + piece.offset;
  return std::nullopt;
}

Error Exchange::await(int64_t from, uint64_t progress, const char *data,
                      int64_t bytes, Lane lane) const {
  if (isOwn(from))
    return std::nullopt;
  return group.channel->await(from, progress, data, bytes, lane);
}

Error Exchange::fetch(int64_t from, uint64_t progress, Piece piece, char *data,
                      Lane lane) const {
  if (!isOwn(from))
    return group.channel->fetch(from, progress, piece, data, lane);
  return copyBytes(visit.queue, call, data, visit.staged + piece.offset,
                   piece.bytes);
}

Error Exchange::expect(int64_t from, Piece piece, char *data, Lane lane) const {
  if (isOwn(from) || !piece.bytes)
    return std::nullopt;
  return group.channel->expect(from, piece, data, lane);
}
