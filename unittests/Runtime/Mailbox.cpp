//===- Mailbox.cpp - A transport within one process -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mailbox.h"

#include "Harness.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>

using namespace cp::test;

namespace {
/// One message, as one of its two ranks has posted it.
struct Half {
  int64_t from, to;
  cprt_message message;
  size_t number;
  bool isDone = false;
  /// How often it is asked for in vain once it is done.
  int questions = 0;
  cprt_status status = CPRT_OK;
  std::optional<std::chrono::steady_clock::time_point> arrival = {};

  int64_t owner() const { return message.is_receive ? to : from; }
};
} // namespace

struct Mailbox::State {
  State(int64_t ranks, uint64_t seed, std::chrono::microseconds latency)
      : random(seed), latency(latency), events(size_t(ranks)) {}

  mutable std::mutex mutex;
  std::mt19937_64 random;
  std::list<Half> halves;
  std::chrono::microseconds latency;
  /// The receivers and the bytes of messages: all, and those that were asked
  /// for.
  std::vector<std::pair<int64_t, int64_t>> received, askedFor;
  /// By rank.
  std::vector<std::vector<Mailbox::Event>> events;
  size_t numPosted = 0;

  /// Whether it sets out now.
  bool carryOn(Half &half) const {
    if (!half.isDone || half.arrival)
      return false;
    half.arrival = std::chrono::steady_clock::now() + latency;
    return true;
  }
  size_t note(int64_t rank, const cprt_message *messages, int64_t count);
  void post(Half half, void **request);
  void meet(Half &sent, Half &received);
};

void Mailbox::State::meet(Half &sent, Half &received) {
  if (sent.message.bytes == received.message.bytes)
    std::memcpy(received.message.data, sent.message.data,
                size_t(sent.message.bytes));
  else
    sent.status = received.status = CPRT_MISMATCH;
  for (Half *half : {&sent, &received}) {
    half->isDone = true;
    half->questions = int(random() % 4);
  }
}

/// Of messages that are posted together; the number of the first.
size_t Mailbox::State::note(int64_t rank, const cprt_message *messages,
                            int64_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  size_t first = numPosted;
  numPosted += size_t(count);
  events[size_t(rank)].push_back({{messages, messages + count}, first});
  return first;
}

void Mailbox::State::post(Half half, void **request) {
  std::lock_guard<std::mutex> lock(mutex);
  halves.push_back(half);
  Half &mine = halves.back();
  *request = &mine;
  auto other = std::find_if(halves.begin(), halves.end(), [&](Half &each) {
    return !each.isDone && each.from == mine.from && each.to == mine.to &&
           each.message.tag == mine.message.tag &&
           each.message.is_receive != mine.message.is_receive;
  });
  if (other == halves.end())
    return;
  if (mine.message.is_receive)
    meet(*other, mine);
  else
    meet(mine, *other);
}

namespace {
/// One rank's.
struct Box {
  std::shared_ptr<Mailbox::State> state;
  int64_t rank;
};
} // namespace

static cprt_status postAll(void *state, const cprt_message *messages,
                           int64_t count, void **requests) {
  auto *box = static_cast<Box *>(state);
  size_t number = box->state->note(box->rank, messages, count);
  for (int64_t i = 0; i < count; ++i) {
    const cprt_message &each = messages[i];
    int64_t from = each.is_receive ? each.peer : box->rank;
    int64_t to = each.is_receive ? box->rank : each.peer;
    box->state->post({from, to, each, number++}, &requests[i]);
  }
  return CPRT_OK;
}

static void erase(Mailbox::State &state, void *request) {
  state.halves.remove_if([&](Half &half) { return &half == request; });
}

static cprt_status testOne(void *state, void **request, int32_t *done) {
  Mailbox::State &shared = *static_cast<Box *>(state)->state;
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto *half = static_cast<Half *>(*request);
  if (shared.carryOn(*half) && half->message.is_receive)
    shared.askedFor.push_back({half->to, half->message.bytes});
  *done = half->isDone && *half->arrival <= std::chrono::steady_clock::now() &&
          half->questions-- <= 0;
  cprt_status status = half->status;
  if (!*done)
    return CPRT_OK;
  if (half->message.is_receive)
    shared.received.push_back({half->to, half->message.bytes});
  shared.events[size_t(half->owner())].push_back({{}, half->number});
  erase(shared, half);
  *request = nullptr;
  return status;
}

static void cancelOne(void *state, void *request) {
  Mailbox::State &shared = *static_cast<Box *>(state)->state;
  std::lock_guard<std::mutex> lock(shared.mutex);
  erase(shared, request);
}

static void carryOn(void *state) {
  auto *box = static_cast<Box *>(state);
  std::lock_guard<std::mutex> lock(box->state->mutex);
  for (Half &half : box->state->halves)
    if (half.owner() == box->rank)
      box->state->carryOn(half);
}

static const char *errorOf(void *) {
  return "a message has other bytes than were expected";
}

static void destroyBox(void *state, int32_t) {
  delete static_cast<Box *>(state);
}

Mailbox::Mailbox(int64_t size, uint64_t seed, std::chrono::microseconds latency)
    : state(std::make_shared<State>(size, seed, latency)), size(size) {}

std::vector<Mailbox::Event> Mailbox::eventsOf(int64_t rank) const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->events[size_t(rank)];
}

size_t Mailbox::numPending() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->halves.size();
}

static size_t blocksOf(const std::vector<std::pair<int64_t, int64_t>> &messages,
                       int64_t rank, int64_t bytes) {
  int64_t blocks = 0;
  for (auto [receiver, size] : messages)
    if (receiver == rank && size % bytes == 0)
      blocks += size / bytes;
  return size_t(blocks);
}

size_t Mailbox::blocksReceived(int64_t rank, int64_t bytes) const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return blocksOf(state->received, rank, bytes);
}

size_t Mailbox::blocksAskedFor(int64_t rank, int64_t bytes) const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return blocksOf(state->askedFor, rank, bytes);
}

cprt_transport Mailbox::transportOf(int64_t rank) const {
  cprt_transport transport = {};
  transport.struct_size = sizeof(transport);
  transport.state = new Box{state, rank};
  transport.name = "mailbox";
  transport.rank = rank;
  transport.size = size;
  transport.post = postAll;
  transport.test = testOne;
  transport.cancel = cancelOne;
  transport.error = errorOf;
  transport.destroy = destroyBox;
  transport.progress = carryOn;
  return transport;
}

std::string cp::test::freshAddress() {
  static std::atomic<int> number{0};
  return "unix:" + testing::TempDir() + "cprt-test-" +
         std::to_string(::getpid()) + "-" + std::to_string(++number);
}

cprt_status cp::test::joinByMailbox(const Mailbox &mailbox,
                                    const cprt_options &options, cprt_job job,
                                    cprt_world **world, std::string &message) {
  char text[1024] = "";
  job.struct_size = sizeof(job);
  cprt_transport transport = mailbox.transportOf(job.rank);
  cprt_status status = cprt_messages_create(&options, &job, &transport, world,
                                            text, sizeof text);
  message = text;
  return status;
}

std::vector<cprt_world *>
cp::test::makeMessageWorlds(const cprt_options &options,
                            const Mailbox &mailbox) {
  std::vector<cprt_world *> worlds(size_t(mailbox.numRanks()), nullptr);
  std::string address = freshAddress();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < mailbox.numRanks(); ++rank)
    threads.emplace_back([&, rank] {
      cprt_job job = {};
      job.rank = rank;
      job.address = address.c_str();
      std::string message;
      joinByMailbox(mailbox, options, job, &worlds[size_t(rank)], message);
    });
  for (std::thread &thread : threads)
    thread.join();
  return worlds;
}
