//===- DirectChannel.cpp - Ranks that read each other's memory ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DirectChannel.h"

#include "Core/Context.h"
#include "Core/CopyBytes.h"

using namespace cp::runtime;

DirectChannel::~DirectChannel() {
  for (void *event : {mine.isReady, mine.hasRead})
    if (event)
      context.queue->forget(event);
}

/// Marks what the queue has been given so far; where it cannot, waits for it.
Error DirectChannel::mark(void *&event) {
  return visit->queue->marksEvents() ? visit->queue->record(event)
                                     : visit->queue->synchronize();
}

Error DirectChannel::enter(const Visit &brought, MovesFn first) {
  visit = &brought;
  moves = first;
  round = 0;
  mine.call = &visit->call;
  mine.counter = &visit->counter;
  mine.staged = visit->staged;
  mine.progress.store(0, std::memory_order_relaxed);
  mine.awaited.store(UINT64_MAX, std::memory_order_relaxed);
  peers.clear();
  if (visit->queue)
    if (Error failure = mark(mine.isReady))
      return failure;
  if (Error failure = meeting.enter(context, slots[size_t(position)], mine))
    return failure;
  if (visit->queue && visit->queue->marksEvents())
    for (size_t slot : slots)
      if (Participant &peer = meeting.at(slot); &peer != &mine)
        peers.push_back(&peer);
  return std::nullopt;
}

/// Rounds and staged pieces do not come in one collective, and share its
/// progress.
Error DirectChannel::nextRound(MovesFn next) {
  moves = next;
  return publish(++round);
}

Error DirectChannel::take(int64_t from, Taken &taken) {
  if (Error failure = awaitProgress(from, round))
    return failure;
  moves(position, from, taken.moves);
  Participant &peer = at(from);
  if (Error failure = followPeer(from))
    return failure;
  int64_t bytes = 0;
  for (const Move &move : taken.moves) {
    const Buffer &source = peer.call->allBuffers()[move.source];
    bytes += bytesOf(source, move.maps);
    taken.views.push_back({source, &move.maps, false});
  }
  if (visit->countsMoves)
    peer.counter->bytesSent.fetch_add(bytes, std::memory_order_relaxed);
  return std::nullopt;
}

Failure DirectChannel::failAll(Failure failure) {
  return meeting.fail(std::move(failure));
}

void DirectChannel::depart() {
  if (visit->queue)
    if (Error failure = mark(mine.hasRead))
      context.fail(failure->status, failure->message);
  departure = meeting.depart();
}

void DirectChannel::leave() {
  meeting.leave(departure);
  followPeers();
}

/// What the queue is given from now on may write over what others have read:
/// they mark that again only once this rank has entered again.
void DirectChannel::followPeers() {
  for (const Participant *peer : peers)
    if (peer->hasRead)
      if (Error failure = visit->queue->waitFor(peer->hasRead))
        return context.fail(failure->status, failure->message);
}

void DirectChannel::offer(int64_t, const char *, int64_t bytes, Lane) {
  visit->counter.bytesSent.fetch_add(bytes, std::memory_order_relaxed);
}

Error DirectChannel::publish(uint64_t progress) {
  // Who still waits for what it marked before waits for more, and for nothing
  // that waits for it.
  if (visit->queue)
    if (Error failure = mark(mine.isReady))
      return failure;
  meeting.publish(mine, progress);
  return std::nullopt;
}

/// Who takes copies before it says so, and the collective waits for that.
Error DirectChannel::reclaim(Lane, int64_t) { return std::nullopt; }

Error DirectChannel::window(int64_t from, Piece piece, const char *&data) {
  data = at(from).staged + piece.offset;
  return std::nullopt;
}

Error DirectChannel::awaitProgress(int64_t peer, uint64_t progress) {
  if (progress == 0)
    return std::nullopt;
  return meeting.awaitProgress(slots[size_t(peer)], progress, visit->call);
}

/// Lets the queue wait for what a peer had given its own when it published.
Error DirectChannel::followPeer(int64_t peer) {
  void *event = visit->queue ? at(peer).isReady : nullptr;
  return event ? visit->queue->waitFor(event) : std::nullopt;
}

Error DirectChannel::await(int64_t from, uint64_t progress, const char *,
                           int64_t, Lane) {
  if (Error failure = awaitProgress(from, progress))
    return failure;
  return followPeer(from);
}

Error DirectChannel::fetch(int64_t from, uint64_t progress, Piece piece,
                           char *data, Lane lane) {
  if (Error failure = await(from, progress, data, piece.bytes, lane))
    return failure;
  const char *there = at(from).staged + piece.offset;
  if (visit->queue)
    return visit->queue->copyBytes(visit->call, data, there, piece.bytes);
  if (piece.bytes)
    copyBytes(data, there, size_t(piece.bytes));
  return std::nullopt;
}
