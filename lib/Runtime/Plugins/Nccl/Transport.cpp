//===- Transport.cpp - Messages over NCCL ---------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport.h"

#include <cstring>
#include <future>
#include <new>
#include <thread>

using namespace cp::nccl;
using Clock = std::chrono::steady_clock;

/// For how long NCCL may take to end: an abort of it can hang.
static constexpr std::chrono::seconds endingTime{10};
/// For how long a message of another call is left to those who know both.
static constexpr std::chrono::seconds explanationTime{1};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static Transport &at(void *state) { return *static_cast<Transport *>(state); }

void Transport::describe(cprt_transport &table) {
  table = {};
  table.struct_size = sizeof(table);
  table.state = this;
  table.name = "nccl";
  table.rank = rank;
  table.size = size;
  table.post = [](void *state, const cprt_message *messages, int64_t count,
                  void **requests) {
    return at(state).post(messages, count, requests, /*behind=*/nullptr);
  };
  table.test = [](void *state, void **request, int32_t *done) {
    return at(state).test(request, done);
  };
  table.cancel = [](void *state, void *request) { at(state).cancel(request); };
  table.error = [](void *state) { return at(state).faults.text(); };
  table.destroy = [](void *state, int32_t failed) {
    at(state).hasFailed |= failed != 0;
    delete &at(state);
  };
  table.address = [](void *state, const void **data, size_t *bytes) {
    return at(state).address(data, bytes);
  };
  table.connect = [](void *state, const void *const *addresses,
                     const size_t *bytes) {
    return at(state).connect(addresses, bytes);
  };
  // What it finds wrong, the next question finds.
  table.progress = [](void *state) { (void)at(state).carryOn(); };
  table.bind = [](void *state, const cprt_device *device, void *queue,
                  int64_t deadlineMs) {
    return at(state).bind(device, queue, deadlineMs);
  };
  table.post_on_device = [](void *state, void *queue,
                            const cprt_message *messages, int64_t count,
                            void **requests) {
    return at(state).post(messages, count, requests, queue);
  };
  table.follow = [](void *state, void *queue, void *request, int32_t *done) {
    return at(state).follow(*static_cast<Message *>(request), queue, done);
  };
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

/// Rank 0's is that of the job.
cprt_status Transport::address(const void **data, size_t *bytes) {
  *data = &id;
  *bytes = sizeof id;
  return rank ? CPRT_OK
              : faults.check(api, api.getUniqueId(&id), "ncclGetUniqueId",
                             nullptr);
}

cprt_status Transport::connect(const void *const *addresses,
                               const size_t *bytes) {
  if (bytes[0] != sizeof id)
    return faults.say(CPRT_MISMATCH,
                      "rank 0 gives an address of " + std::to_string(bytes[0]) +
                          " bytes, expected " + std::to_string(sizeof id) +
                          "; start one version everywhere");
  std::memcpy(&id, addresses[0], sizeof id);
  return CPRT_OK;
}

/// Until the first lanes have communicators.
cprt_status Transport::awaitLanes(size_t count, Clock::time_point last) {
  constexpr std::chrono::microseconds nap{100};
  for (size_t i = 0; i < count; ++i)
    for (bool ready = false; !ready;) {
      if (cprt_status status = lanes[i].isReady(ready); status != CPRT_OK)
        return status;
      if (!ready && Clock::now() >= last)
        return faults.say(CPRT_TIMEOUT,
                          "the ranks did not make a communicator until the "
                          "deadline; look at NCCL_DEBUG=INFO and at "
                          "NCCL_SOCKET_IFNAME, or raise the deadline");
      if (!ready)
        std::this_thread::sleep_for(nap);
    }
  return CPRT_OK;
}

cprt_status Transport::bind(const cprt_device *where, void *queue,
                            int64_t deadlineMs) {
  Clock::time_point last = Clock::now() + std::chrono::milliseconds(deadlineMs);
  device = where;
  if (!device->open_beside)
    return faults.say(CPRT_UNSUPPORTED,
                      std::string(device->name) +
                          " has no memory that NCCL moves; take another "
                          "transport");
  // NCCL takes the card that this thread has used last.
  cprt_status status = faults.check(device->synchronize(queue), *device, queue);
  if (status == CPRT_OK)
    status = faults.check(device->open_beside(queue, &copies), *device, queue);
  if (status == CPRT_OK)
    blocks = std::make_unique<Blocks>(*device, copies);
  for (size_t i = 0; i < lanes.size() && status == CPRT_OK; ++i) {
    status = lanes[i].open(api, *device, queue, faults);
    if (status == CPRT_OK)
      status = i == 0 ? lanes[i].start(id, int(rank), int(size))
                      : lanes[i].split(lanes[0], int(rank));
    // While one is made, its ranks' other one takes no call.
    if (status == CPRT_OK)
      status = awaitLanes(i + 1, last);
  }
  return status;
}

/// Whether NCCL let all communicators go, within so long.
static bool endAll(const Api &api, std::vector<Comm> comms, bool failed) {
  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  std::thread([api, comms = std::move(comms), failed,
               ended = std::move(ended)]() mutable {
    for (Comm comm : comms)
      cp::nccl::end(api, comm, failed);
    ended.set_value();
  }).detach();
  return end.wait_for(endingTime) == std::future_status::ready;
}

/// Ends the communicators once. False where they do not end: what they use
/// stays.
bool Transport::endComms(bool failed) {
  std::vector<Comm> comms;
  for (Lane &lane : lanes)
    if (Comm comm = lane.giveUp())
      comms.push_back(comm);
  isOver = true;
  isStuck |= !comms.empty() && !endAll(api, std::move(comms), failed);
  return !isStuck;
}

Transport::~Transport() {
  if (!endComms(hasFailed)) {
    [[maybe_unused]] Blocks *kept = blocks.release();
    return;
  }
  for (Lane &lane : lanes)
    lane.close();
  for (void *event : {copied, given})
    if (event)
      device->forget(copies, event);
  blocks.reset();
  if (copies)
    device->close(copies);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Finds its place on the card, and brings there what is the host's.
cprt_status Transport::begin(Message &message, Envelopes &envelopes) {
  const cprt_message &asked = message.asked;
  std::shared_ptr<Envelope> &envelope = envelopes[laneOf(asked)];
  if (!envelope)
    envelope = std::make_shared<Envelope>(*device, copies, *blocks);
  message.envelope = envelope;
  message.number = envelope->add(
      asked.is_receive ? Header() : Header{asked.tag, asked.bytes});
  if (message.isThere)
    return CPRT_OK;
  message.block = blocks->take(asked.bytes);
  if (!message.block)
    return faults.say(CPRT_OUT_OF_MEMORY,
                      "no " + std::to_string(asked.bytes) +
                          " bytes left on the device for a message");
  return asked.is_receive
             ? CPRT_OK
             : faults.check(device->upload(copies, message.block, asked.data,
                                           asked.bytes),
                            *device, copies);
}

/// Hands all over to their lanes, or none. Of messages on the card `behind` is
/// the queue whose work they come behind; it is null for the host's.
cprt_status Transport::post(const cprt_message *messages, int64_t count,
                            void **requests, void *behind) try {
  std::vector<std::unique_ptr<Message>> made;
  Envelopes envelopes;
  cprt_status status = CPRT_OK;
  for (int64_t i = 0; i < count && status == CPRT_OK; ++i) {
    made.push_back(std::make_unique<Message>());
    made.back()->asked = messages[i];
    made.back()->isThere = behind;
    status = begin(*made.back(), envelopes);
  }
  for (const std::shared_ptr<Envelope> &envelope : envelopes)
    if (envelope && status == CPRT_OK)
      status = faults.check(envelope->send(), *device, copies);
  if (status == CPRT_OK && behind)
    status = faults.check(device->record(behind, &given), *device, behind);
  for (size_t i = 0; i < lanes.size(); ++i)
    if (behind && envelopes[i] && status == CPRT_OK)
      status = lanes[i].holdFor(given);
  if (status == CPRT_OK)
    status = faults.check(device->record(copies, &copied), *device, copies);
  for (size_t i = 0; i < made.size(); ++i) {
    Message *message = made[i].release();
    if (status != CPRT_OK) {
      release(message);
      continue;
    }
    lanes[laneOf(message->asked)].add(message);
    requests[i] = message;
  }
  return status;
} catch (const std::bad_alloc &) {
  return faults.say(CPRT_OUT_OF_MEMORY, "no memory for a message");
}

cprt_status Transport::carryOn() try {
  if (isOver)
    return faults.say(CPRT_PEER_FAILED,
                      "the communicators have been ended, since a message was "
                      "given up; look at what failed first");
  cprt_status worst = CPRT_OK;
  for (Lane &lane : lanes)
    if (lane.isOpen() && worst == CPRT_OK)
      worst = lane.carryOn(copied);
  return worst;
} catch (const std::bad_alloc &) {
  return faults.say(CPRT_OUT_OF_MEMORY, "no memory for a message");
}

/// What NCCL has found wrong, and nothing else: of messages that a queue is
/// behind the runtime asks at any time, also while a rank posts what is to go
/// as one group.
cprt_status Transport::checkLanes() {
  if (isOver)
    return carryOn();
  cprt_status worst = CPRT_OK;
  bool ready = false;
  for (Lane &lane : lanes)
    if (lane.isOpen() && worst == CPRT_OK)
      worst = lane.isReady(ready);
  return worst;
}

/// Begins to copy what came to where it belongs.
cprt_status Transport::land(Message &message) {
  message.isLanding = true;
  cprt_status status = message.envelope->land();
  if (message.isThere || status != CPRT_OK)
    return faults.check(status, *device, copies);
  status = device->download(copies, message.asked.data, message.block,
                            message.asked.bytes);
  message.landed.emplace(*device, copies);
  if (status == CPRT_OK)
    status = message.landed->record();
  return faults.check(status, *device, copies);
}

cprt_status Transport::look(Message &message, int32_t *done) {
  int32_t came = 0;
  if (!message.batch || !message.batch->isMarked)
    return CPRT_OK;
  if (!message.isLanding) {
    cprt_status status =
        faults.check(message.batch->mark.query(&came), *device, copies);
    if (status != CPRT_OK || !came)
      return status;
    if (!message.asked.is_receive) {
      *done = 1;
      return CPRT_OK;
    }
    status = land(message);
    if (status != CPRT_OK)
      return status;
  }
  cprt_status status =
      faults.check(message.isThere ? message.envelope->query(done)
                                   : message.landed->query(done),
                   *device, copies);
  if (status != CPRT_OK || !*done)
    return status;
  const Header &header = message.envelope->at(message.number);
  if (header.tag == message.asked.tag && header.bytes == message.asked.bytes)
    return CPRT_OK;
  // As if it had not met: who waits finds out which calls differ.
  *done = 0;
  if (message.strange == Clock::time_point())
    message.strange = Clock::now();
  if (Clock::now() - message.strange < explanationTime)
    return CPRT_OK;
  return faults.say(CPRT_MISMATCH,
                    "a message of " + std::to_string(header.bytes) +
                        " bytes of another call came where one of " +
                        std::to_string(message.asked.bytes) + " was expected");
}

cprt_status Transport::test(void **request, int32_t *done) {
  auto *message = static_cast<Message *>(*request);
  *done = 0;
  bool isFollowed = message->batch && message->batch->follower;
  cprt_status status = isFollowed ? checkLanes() : carryOn();
  if (status == CPRT_OK)
    status = look(*message, done);
  if (status == CPRT_OK && !*done)
    return CPRT_OK;
  if (status == CPRT_OK)
    release(message);
  else
    cancel(message);
  *request = nullptr;
  return status;
}

cprt_status Transport::follow(Message &message, void *follower, int32_t *done) {
  *done = 0;
  if (cprt_status status = carryOn(); status != CPRT_OK)
    return status;
  // What is posted next waits for the queue, and would hold back what is not
  // on its stream yet, for which another rank may wait before it sends this.
  for (const Lane &lane : lanes)
    if (lane.isOpen() && !lane.hasStarted())
      return CPRT_OK;
  if (!message.batch || !message.batch->isMarked)
    return CPRT_OK;
  if (message.batch->follower != follower)
    if (cprt_status status =
            faults.check(message.batch->mark.hold(follower), *device, follower))
      return status;
  message.batch->follower = follower;
  *done = 1;
  return CPRT_OK;
}

/// Once nothing of it is under way.
void Transport::release(Message *message) {
  if (message && message->block)
    blocks->give(message->block);
  delete message;
}

void Transport::cancel(void *request) {
  std::unique_ptr<Message> message(static_cast<Message *>(request));
  hasFailed = true;
  // Nothing on this queue waits for another rank.
  if (message->envelope->isLanding())
    (void)device->synchronize(copies);
  if (lanes[laneOf(message->asked)].remove(message.get()))
    return release(message.release());
  message->envelope->lose();
  // It would write to the caller's memory, or let a queue wait for it.
  if (message->isThere && message->batch && !isOver)
    endEarly();
}

/// Where NCCL does not let go, nothing more can be done about it.
void Transport::endEarly() try {
  (void)endComms(/*failed=*/true);
} catch (const std::exception &) {
  isStuck = true;
}
