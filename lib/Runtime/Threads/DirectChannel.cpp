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

Error DirectChannel::enter(const Visit &brought, MovesFn first) {
  visit = &brought;
  moves = first;
  round = 0;
  mine.call = &visit->call;
  mine.counter = &visit->counter;
  mine.staged = visit->staged;
  mine.progress.store(0, std::memory_order_relaxed);
  mine.awaited.store(UINT64_MAX, std::memory_order_relaxed);
  // What is read of this rank is there then.
  if (visit->queue)
    if (Error failure = visit->queue->synchronize())
      return failure;
  return meeting.enter(context, slots[size_t(position)], mine);
}

/// Rounds and staged pieces do not come in one collective, and share its
/// progress.
Error DirectChannel::nextRound(MovesFn next) {
  moves = next;
  publish(++round);
  return std::nullopt;
}

Error DirectChannel::take(int64_t from, Taken &taken) {
  if (Error failure = awaitProgress(from, round))
    return failure;
  moves(position, from, taken.moves);
  Participant &peer = at(from);
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
  // What this rank reads of the others it has read then.
  if (visit->queue)
    if (Error failure = visit->queue->synchronize())
      context.fail(failure->status, failure->message);
  departure = meeting.depart();
}

void DirectChannel::leave() { meeting.leave(departure); }

void DirectChannel::offer(int64_t, const char *, int64_t bytes, Lane) {
  visit->counter.bytesSent.fetch_add(bytes, std::memory_order_relaxed);
}

void DirectChannel::publish(uint64_t progress) {
  meeting.publish(mine, progress);
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

Error DirectChannel::await(int64_t from, uint64_t progress, const char *,
                           int64_t, Lane) {
  return awaitProgress(from, progress);
}

Error DirectChannel::fetch(int64_t from, uint64_t progress, Piece piece,
                           char *data, Lane) {
  if (Error failure = awaitProgress(from, progress))
    return failure;
  if (piece.bytes)
    copyBytes(data, at(from).staged + piece.offset, size_t(piece.bytes));
  return std::nullopt;
}
