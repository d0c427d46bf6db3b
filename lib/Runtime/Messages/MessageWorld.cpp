//===- MessageWorld.cpp - Ranks that send messages ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageWorld.h"

#include "Core/CText.h"
#include "Core/WorldOptions.h"
#include "Joining.h"
#include "MessageChannel.h"

#include <cstddef>

using namespace cp::runtime;

/// Where messages go between cards, those of a launch end together: so many
/// ranks are asked beside the one that is waited for.
static constexpr size_t numAside = 8;

/// What 32 bits of a letter's address hold, with room to spare.
static constexpr int64_t maxProcesses = 1 << 20;
/// For how long rank 0 hands letters on once something has failed.
static constexpr std::chrono::milliseconds shortFarewell{300};
static constexpr size_t maxTokenBytes = 256, maxAddressBytes = 4096;

MessageWorld::MessageWorld(const cprt_transport &transport)
    : transport(transport), wire(transport) {}

/// What is left without memory is given up.
static void settle(Trail &trail) try {
  (void)trail.settle();
} catch (const std::bad_alloc &) {
  return;
}

MessageWorld::~MessageWorld() {
  // What the device still moves, others wait for; and it must not hang in it.
  if (trail)
    settle(*trail);
  trail.reset();
  // What it still hears, it may answer.
  if (control)
    control->stop(hasFailed() ? std::min(deadline, shortFarewell) : deadline);
  contexts.clear();
  wire.stop();
  // Whoever did not get to its peers may be waited for by them.
  transport.destroy(transport.state, !whereabouts || hasFailed());
}

void MessageWorld::start(int64_t rank, std::unique_ptr<Control> joined) {
  auto size = size_t(mesh.numRanks());
  contexts.resize(size);
  departed.reset(new std::atomic<bool>[size]());
  contexts[size_t(rank)] = std::make_unique<cprt_context>(*this, rank);
  control = std::move(joined);
  whereabouts = std::make_unique<Whereabouts>(
      rank, [this](Letter letter) { control->send(std::move(letter)); },
      [this](Failure failure) { end(std::move(failure)); },
      transport.post_on_device ? numAside : 0);
  if (mesh.numRanks() > 1)
    control->listen(*this);
}

void MessageWorld::followOnDevice(cprt_context &context) {
  trail = std::make_unique<Trail>(*this, context);
  context.queue->settleBefore([this] { return trail->settle(); });
}

std::unique_ptr<Channel>
MessageWorld::openChannel(cprt_context &context,
                          const std::vector<int64_t> &ranks, int64_t position) {
  return std::make_unique<MessageChannel>(*this, context, ranks, position);
}

/// With the mutex held. False if there is one already.
bool MessageWorld::keep(Failure failure) {
  if (hasFailure.load(std::memory_order_relaxed))
    return false;
  first = std::move(failure);
  hasFailure.store(true, std::memory_order_release);
  return true;
}

void MessageWorld::spread(Failure failure) {
  if (keep(std::move(failure)))
    control->send({Letter::Kind::Failure, 0, everyone, toText(first)});
}

Failure MessageWorld::end(Failure failure) {
  std::lock_guard<std::mutex> lock(mutex);
  spread(std::move(failure));
  return first;
}

void MessageWorld::hear(const Letter &letter) {
  if (letter.kind == Letter::Kind::Where)
    return whereabouts->answer(letter);
  if (letter.kind == Letter::Kind::Bye) {
    bool isKnown = letter.from >= 0 && letter.from < mesh.numRanks();
    if (isKnown)
      departed[size_t(letter.from)] = true;
    return;
  }
  if (letter.kind == Letter::Kind::Absent)
    return whereabouts->hearOfAbsence(letter);
  if (letter.kind != Letter::Kind::Failure)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  keep(failureOf(letter));
}

void MessageWorld::lose(int64_t rank) {
  end({CPRT_PEER_FAILED,
       "rank " + std::to_string(rank) +
           " has gone: its connection closed without a farewell; look at what "
           "ended its process"});
}

static Failure invalid(std::string text) {
  return {CPRT_INVALID_ARGUMENT, std::move(text)};
}

static Error readJob(const cprt_job *given, int64_t size, Job &job,
                     cprt_job &read) {
  read = {};
  if (Error failure = readSizedOptions(given, offsetof(cprt_job, token),
                                       "cprt_job", &read, sizeof(read)))
    return failure;
  if (read.listener > 0)
    job.listener = File(read.listener - 1);
  if (read.rank < 0 || read.rank >= size)
    return invalid("the job's rank is " + std::to_string(read.rank) +
                   ", expected 0 to " + std::to_string(size - 1) +
                   ", the ranks of the mesh");
  if (read.local_ranks < 0 || read.local_ranks > size)
    return invalid("local_ranks is " + std::to_string(read.local_ranks) +
                   ", expected 0 (all) to " + std::to_string(size));
  int64_t local = read.local_ranks ? read.local_ranks : size;
  if (read.local_rank < 0 || read.local_rank > local)
    return invalid("local_rank is " + std::to_string(read.local_rank) +
                   ", expected 0 (by the rank's number) to " +
                   std::to_string(local) + ", the ranks of its machine");
  job.rank = read.rank;
  job.size = size;
  job.token = read.token ? read.token : "";
  job.program = read.program;
  if (job.token.size() > maxTokenBytes)
    return invalid("the job's token has " + std::to_string(job.token.size()) +
                   " bytes, expected at most " + std::to_string(maxTokenBytes));
  if (size == 1)
    return std::nullopt;
  if (Error failure = Address::parse(read.address, job.address))
    return failure;
  if (job.token.empty() && !job.address.isLocal())
    return invalid("the address '" + job.address.text() +
                   "' is reached by other machines, expected a token that the "
                   "processes of the job share (CPRT_TOKEN), or a loopback "
                   "address");
  return std::nullopt;
}

static Error checkTransport(const cprt_transport &transport,
                            const cprt_job &job, int64_t size) {
  if (transport.rank != job.rank || transport.size != size)
    return invalid("the transport '" + std::string(transport.name) +
                   "' is that of rank " + std::to_string(transport.rank) +
                   " of " + std::to_string(transport.size) +
                   ", expected rank " + std::to_string(job.rank) + " of " +
                   std::to_string(size) +
                   "; start as many processes as the mesh has ranks");
  return std::nullopt;
}

static Failure failureOf(const cprt_transport &transport, cprt_status status) {
  return {status, std::string(transport.name) + ": " +
                      transport.error(transport.state)};
}

/// Of a transport whose ends have addresses.
static Error readAddress(const cprt_transport &transport, Job &job) {
  if (!transport.address)
    return std::nullopt;
  const void *data = nullptr;
  size_t bytes = 0;
  cprt_status status = transport.address(transport.state, &data, &bytes);
  if (status != CPRT_OK)
    return failureOf(transport, status);
  if (bytes > maxAddressBytes)
    return Failure{CPRT_UNSUPPORTED, "the transport's address has " +
                                         std::to_string(bytes) +
                                         " bytes, expected at most " +
                                         std::to_string(maxAddressBytes)};
  job.own.assign(static_cast<const char *>(data), bytes);
  return std::nullopt;
}

static Error connect(const cprt_transport &transport,
                     const std::vector<std::string> &addresses) {
  if (!transport.connect)
    return std::nullopt;
  std::vector<const void *> data;
  std::vector<size_t> bytes;
  for (const std::string &address : addresses) {
    data.push_back(address.data());
    bytes.push_back(address.size());
  }
  cprt_status status =
      transport.connect(transport.state, data.data(), bytes.data());
  return status == CPRT_OK ? Error() : failureOf(transport, status);
}

/// For a transport whose messages pass through a device.
static Error bind(MessageWorld &world, cprt_context &context) {
  const cprt_transport &transport = world.transport;
  if (!transport.bind)
    return std::nullopt;
  if (!context.queue)
    return Failure{CPRT_UNSUPPORTED,
                   "the transport '" + std::string(transport.name) +
                       "' goes between devices, and the ranks have none; say "
                       "which (--device), or take another transport"};
  cprt_status status =
      transport.bind(transport.state, world.device, context.queue->handle(),
                     world.deadline.count());
  if (status != CPRT_OK)
    return failureOf(transport, status);
  if (transport.post_on_device && transport.follow)
    world.followOnDevice(context);
  return std::nullopt;
}

/// Takes the transport over, if it is whole.
static Error takeTransport(const cprt_transport *given,
                           std::unique_ptr<MessageWorld> &world) {
  cprt_transport transport = {};
  if (Error failure =
          readSizedOptions(given, offsetof(cprt_transport, address),
                           "cprt_transport", &transport, sizeof(transport)))
    return failure;
  if (!transport.name || !transport.post || !transport.test ||
      !transport.cancel || !transport.error || !transport.destroy)
    return invalid("a function of the transport, or its name, is null");
  world = std::make_unique<MessageWorld>(transport);
  return std::nullopt;
}

static Error makeWorld(const cprt_options *options, const cprt_job *job,
                       const cprt_transport *transport,
                       std::unique_ptr<MessageWorld> &world) {
  if (Error failure = takeTransport(transport, world))
    return failure;
  cprt_options read;
  if (Error failure = readOptions(options, read))
    return failure;
  if (Error failure = applyOptions(read, maxProcesses, "processes", *world))
    return failure;
  int64_t size = world->mesh.numRanks();
  Job known;
  cprt_job readOfJob;
  if (Error failure = readJob(job, size, known, readOfJob))
    return failure;
  if (Error failure = checkTransport(world->transport, readOfJob, size))
    return failure;
  for (const cp::Mesh::Axis &axis : world->mesh.axes)
    known.mesh.push_back(axis.size);
  int64_t local = readOfJob.local_ranks ? readOfJob.local_ranks : size;
  world->oversubscribed = shareMachine(read, local, *world);
  if (Error failure = readAddress(world->transport, known))
    return failure;
  std::unique_ptr<Control> control;
  std::vector<std::string> addresses;
  if (Error failure = Control::join(known, Clock::now() + world->deadline,
                                    control, addresses))
    return failure;
  if (Error failure = connect(world->transport, addresses))
    return failure;
  world->start(known.rank, std::move(control));
  cprt_context &context = *world->contexts[size_t(known.rank)];
  int64_t number =
      readOfJob.local_rank ? readOfJob.local_rank - 1 : known.rank % local;
  if (Error failure = context.openQueue(world->firstCard.value_or(number)))
    return failure;
  return bind(*world, context);
}

/// For how long those who come are told, and rank 0 is looked for.
static constexpr std::chrono::milliseconds declineTime{10'000};

extern "C" cprt_status cprt_messages_decline(const cprt_job *job, int64_t size,
                                             const char *why,
                                             int64_t deadline_ms, char *message,
                                             size_t capacity) {
  return reportToC("messages_decline", message, capacity, [&]() -> Error {
    if (deadline_ms < 0 || deadline_ms > declineTime.count())
      return invalid("deadline_ms is " + std::to_string(deadline_ms) +
                     ", expected 0 (default) to " +
                     std::to_string(declineTime.count()));
    std::chrono::milliseconds most(deadline_ms ? deadline_ms
                                               : declineTime.count());
    if (size < 1 || size > maxProcesses)
      return invalid("the job's size is " + std::to_string(size) +
                     ", expected 1 to " + std::to_string(maxProcesses));
    Job known;
    cprt_job readOfJob;
    if (Error failure = readJob(job, size, known, readOfJob))
      return failure;
    if (size == 1)
      return std::nullopt;
    std::vector<std::string> addresses;
    return Joining(known, Clock::now() + most, addresses)
        .decline(why ? why : "");
  });
}

extern "C" cprt_status cprt_messages_create(const cprt_options *options,
                                            const cprt_job *job,
                                            const cprt_transport *transport,
                                            cprt_world **world, char *message,
                                            size_t capacity) {
  if (world)
    *world = nullptr;
  return reportToC("messages_create", message, capacity, [&]() -> Error {
    if (!world)
      return invalid("the place for the world is null");
    std::unique_ptr<MessageWorld> made;
    if (Error failure = makeWorld(options, job, transport, made))
      return failure;
    *world = made.release();
    return std::nullopt;
  });
}
