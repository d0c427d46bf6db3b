//===- MessageChannel.cpp - A group whose ranks send messages -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageChannel.h"

#include <algorithm>

using namespace cp::runtime;

/// A rank that waits for nobody, as the first of a chain, is at most so many
/// collectives ahead of its group: what it has sent is memory of its peers.
static constexpr uint64_t longestLead = 32;
/// Messages of calls that differ do not meet, but for one in so many; those of
/// deferred calls never meet others.
static constexpr uint64_t numTags = 4095;

static int64_t aligned(int64_t bytes) { return Mirrors::aligned(bytes); }

MessageChannel::MessageChannel(MessageWorld &world, cprt_context &context,
                               std::vector<int64_t> ranks, int64_t position)
    : world(world), context(context), ranks(std::move(ranks)),
      position(position), calls(world.whereabouts->callsOf(this->ranks)),
      incoming(this->ranks.size()), mirrors(context.memory),
      onDevice(context.memory, context.queue.get()) {}

MessageChannel::~MessageChannel() { abandon(); }

Error MessageChannel::enter(const Visit &brought, MovesFn moves) {
  if (world.hasFailed())
    return world.failure();
  visit = &brought;
  // Where a rank is, its program's calls say.
  called = context.isBackground ? WaitedCall::of(visit->call)
                                : world.whereabouts->enter(calls, visit->call);
  tag = (int32_t(called.hash % numTags) * 2 + context.isBackground) * numLanes;
  try {
    // What a device receives is not there before it takes it.
    Error failure = isFollowed() ? std::nullopt : keepPace();
    if (!failure)
      failure = startRound(moves);
    if (failure) {
      abandon();
      forget();
    }
    return failure;
  } catch (const std::bad_alloc &) {
    abandon();
    forget();
    throw;
  }
}

/// A barrier now and then, of ceil(log2 R) messages. (Hensgen, Finkel and
/// Manber, "Two algorithms for barrier synchronization", 1988.)
Error MessageChannel::keepPace() {
  static char nothing = 0;
  if (++numEntered % longestLead)
    return std::nullopt;
  auto size = int64_t(ranks.size());
  for (int64_t distance = 1; distance < size; distance *= 2) {
    int64_t to = (position + distance) % size;
    int64_t from = (position + size - distance) % size;
    messages = {message(from, true, paceLane, &heard, 1),
                message(to, false, paceLane, &nothing, 1)};
    if (Error failure = post(messages, requests))
      return failure;
    sent[paceLane].push_back({requests[1], messages[1].peer});
    current = {requests[0], messages[0].peer};
    if (Error failure = wait(current))
      return failure;
  }
  return std::nullopt;
}

Error MessageChannel::nextRound(MovesFn moves) {
  // Of a round that only the device has waited for.
  if (isFollowed())
    if (Error failure = settleRound())
      return failure;
  return startRound(moves);
}

MessageWait MessageChannel::patience() const {
  return {world, ranks, called,
          context.isBackground ? MessageWait::Kind::Deferred
                               : MessageWait::Kind::Call};
}

/// Whether the device goes on behind the messages of this call by itself.
bool MessageChannel::isFollowed() const { return visit->queue && world.trail; }

cprt_message MessageChannel::message(int64_t peer, bool isReceive, int32_t lane,
                                     const char *data, int64_t bytes) const {
  return {ranks[size_t(peer)], isReceive, tag + lane, const_cast<char *>(data),
          bytes};
}

namespace {
/// How moves share one message: one after the other, each aligned.
struct Bundle {
  int64_t bytes = 0, payload = 0;
  size_t numMoves = 0;

  /// Where it begins.
  int64_t add(int64_t more) {
    if (more == 0)
      return bytes;
    int64_t begin = aligned(bytes);
    bytes = begin + more;
    payload += more;
    ++numMoves;
    return begin;
  }
};
} // namespace

static Bundle bundleOf(const Descriptor &call, const List<Move> &moves) {
  Bundle bundle;
  for (const Move &move : moves)
    bundle.add(bytesOf(call.allBuffers()[move.source], move.maps));
  return bundle;
}

/// What goes to a peer; without bytes if nothing does. What lies in a row is
/// sent from where it is.
Error MessageChannel::outgoing(int64_t to, MovesFn moves, cprt_message &made) {
  List<Move> list;
  moves(to, position, list);
  const Buffer *buffers = visit->call.allBuffers();
  Bundle bundle = bundleOf(visit->call, list);
  if (visit->countsMoves)
    visit->counter.bytesSent.fetch_add(bundle.payload,
                                       std::memory_order_relaxed);
  if (bundle.numMoves == 1)
    for (const Move &move : list)
      if (char *row = rowOf(buffers[move.source], move.maps, false)) {
        made = message(to, false, roundLane, row, bundle.bytes);
        return std::nullopt;
      }
  char *memory = bundle.bytes ? mirrorsOfCall().take(bundle.bytes) : nullptr;
  Bundle places;
  for (const Move &move : list) {
    Packed packed(buffers[move.source], move.maps);
    int64_t begin = places.add(packed.bytes());
    if (packed.bytes())
      if (Error failure =
              copyMapped(visit->queue, visit->call, packed.at(memory + begin),
                         buffers[move.source], packed.packing()))
        return failure;
  }
  made = message(to, false, roundLane, memory, bundle.bytes);
  return std::nullopt;
}

/// What comes from a peer; to where it belongs, if that is a row.
cprt_message MessageChannel::incomingOf(int64_t from, MovesFn moves) {
  Incoming &in = incoming[size_t(from)];
  moves(position, from, in.moves);
  Bundle bundle = bundleOf(visit->call, in.moves);
  if (bundle.numMoves == 1)
    for (const Move &move : in.moves)
      if (char *row =
              move.target ? rowOf(*move.target, move.maps, true) : nullptr) {
        in.isThere = true;
        return message(from, true, roundLane, row, bundle.bytes);
      }
  for (const Move &move : in.moves)
    in.packed.emplace_back(visit->call.allBuffers()[move.source], move.maps);
  in.memory = bundle.bytes ? mirrorsOfCall().take(bundle.bytes) : nullptr;
  return message(from, true, roundLane, in.memory, bundle.bytes);
}

Error MessageChannel::startRound(MovesFn moves) {
  for (Incoming &each : incoming)
    each = Incoming();
  if (!moves)
    return std::nullopt;
  messages.clear();
  auto size = int64_t(ranks.size());
  for (int64_t step = 1; step < size; ++step) {
    messages.push_back(incomingOf((position - step + size) % size, moves));
    messages.emplace_back();
    if (Error failure =
            outgoing((position + step) % size, moves, messages.back()))
      return failure;
  }
  messages.erase(std::remove_if(messages.begin(), messages.end(),
                                [](const cprt_message &message) {
                                  return message.bytes == 0;
                                }),
                 messages.end());
  if (Error failure = post(messages, requests, visit->queue))
    return failure;
  for (size_t i = 0; i < messages.size(); ++i) {
    Posted posted = {requests[i], messages[i].peer};
    if (!messages[i].is_receive) {
      sent[roundLane].push_back(posted);
      continue;
    }
    auto from = std::find(ranks.begin(), ranks.end(), messages[i].peer);
    incoming[size_t(from - ranks.begin())].posted = posted;
  }
  return std::nullopt;
}

Error MessageChannel::take(int64_t from, Taken &taken) {
  Incoming &in = incoming[size_t(from)];
  if (Error failure = isFollowed() ? follow(in.posted) : wait(in.posted))
    return failure;
  taken.moves = std::move(in.moves);
  for (const Move &move : taken.moves)
    if (in.isThere)
      taken.views.push_back({*move.target, &move.maps, true});
  Bundle places;
  for (const Packed &packed : in.packed)
    taken.views.push_back({packed.at(in.memory + places.add(packed.bytes())),
                           &packed.maps(), false});
  return std::nullopt;
}

/// Gives up what is under way, once a rank has failed.
void MessageChannel::abandon() {
  auto cancel = [&](Posted &posted) {
    if (posted.request)
      world.wire.cancel(posted.request);
    posted.request = nullptr;
  };
  cancel(current);
  for (Incoming &each : incoming)
    cancel(each.posted);
  auto cancelAll = [&](Queue &queue) {
    std::for_each(queue.begin(), queue.end(), cancel);
    queue.clear();
  };
  std::for_each(std::begin(sent), std::end(sent), cancelAll);
  std::for_each(std::begin(expected), std::end(expected), cancelAll);
}

Error MessageChannel::follow(Posted &posted) {
  return patience().follow(posted, visit->queue->handle());
}

/// Lets the device go on behind a message, of which the host hears later.
Error MessageChannel::trail(Posted &posted) {
  if (!posted.request)
    return std::nullopt;
  if (Error failure = follow(posted))
    return failure;
  return world.trail->add(posted, ranks, called, context.recorded);
}

/// What the rounds have begun: it has ended then, or the device knows that it
/// is behind it.
Error MessageChannel::settleRound() {
  for (Incoming &each : incoming)
    if (Error failure = settle(each.posted))
      return failure;
  return isFollowed() ? settle(sent[roundLane], 0) : std::nullopt;
}

void MessageChannel::leave() try {
  Error failure;
  // Something was waited for in vain, and its memory is about to go.
  if (current.request)
    failure = world.failure();
  // Also what a rank does not want any more after an error of its own, which
  // its peers have sent and wait to be rid of.
  if (!failure)
    failure = settleRound();
  for (Queue &queue : expected)
    if (!failure)
      failure = settle(queue, 0);
  for (Queue &queue : sent)
    if (!failure)
      failure = settle(queue, 0);
  if (failure) {
    abandon();
    context.fail(failure->status, failure->message);
  }
  forget();
} catch (const std::bad_alloc &) {
  // Its peers learn of it; what they have sent is lost.
  abandon();
  forget();
  failOutOfMemory(context);
}

/// What is left of a collective, on the thread that made it.
void MessageChannel::forget() {
  for (Incoming &each : incoming)
    each = Incoming();
  mirrors.reset();
  onDevice.reset();
  visit = nullptr;
  if (!context.isBackground)
    world.whereabouts->leave();
}

Error MessageChannel::post(const std::vector<cprt_message> &list,
                           std::vector<void *> &handles, DeviceQueue *queue) {
  handles.assign(list.size(), nullptr);
  if (list.empty())
    return std::nullopt;
  std::string text;
  cprt_status status =
      world.wire.post(list.data(), int64_t(list.size()), handles.data(),
                      queue ? queue->handle() : nullptr, text);
  if (status == CPRT_OK)
    return std::nullopt;
  Failure failure = patience().failureOfTransport(status, text);
  for (void *handle : handles)
    if (handle)
      world.wire.cancel(handle);
  return failure;
}

void MessageChannel::offer(int64_t to, const char *data, int64_t bytes,
                           Lane lane) {
  visit->counter.bytesSent.fetch_add(bytes, std::memory_order_relaxed);
  messages.assign(1, message(to, false, int32_t(lane), data, bytes));
  // What is wrong is told to whom waits next, on this rank or on another.
  if (!post(messages, requests, visit->queue))
    sent[size_t(lane)].push_back({requests[0], messages[0].peer});
}

Error MessageChannel::settle(Queue &queue, size_t pending) {
  while (queue.size() > pending) {
    if (Error failure = settle(queue.front()))
      return failure;
    queue.pop_front();
  }
  return std::nullopt;
}

Error MessageChannel::reclaim(Lane lane, int64_t pending) {
  return settle(sent[size_t(lane)], size_t(pending));
}

Error MessageChannel::window(int64_t, Piece piece, const char *&data) {
  data = mirrorsOfCall().take(piece.bytes);
  return std::nullopt;
}

Error MessageChannel::receive(int64_t from, char *data, int64_t bytes,
                              Lane lane) {
  if (bytes == 0)
    return std::nullopt;
  messages.assign(1, message(from, true, int32_t(lane), data, bytes));
  if (Error failure = post(messages, requests, visit->queue))
    return failure;
  current = {requests[0], messages[0].peer};
  return settle(current);
}

Error MessageChannel::await(int64_t from, uint64_t progress, const char *data,
                            int64_t bytes, Lane lane) {
  return fetch(from, progress, {0, bytes}, const_cast<char *>(data), lane);
}

Error MessageChannel::expect(int64_t from, Piece piece, char *data, Lane lane) {
  messages.assign(1, message(from, true, int32_t(lane), data, piece.bytes));
  if (Error failure = post(messages, requests, visit->queue))
    return failure;
  expected[size_t(lane)].push_back({requests[0], messages[0].peer});
  return std::nullopt;
}

Error MessageChannel::fetch(int64_t from, uint64_t, Piece piece, char *data,
                            Lane lane) {
  Queue &queue = expected[size_t(lane)];
  if (!queue.empty() && piece.bytes)
    return settle(queue, queue.size() - 1);
  return receive(from, data, piece.bytes, lane);
}
