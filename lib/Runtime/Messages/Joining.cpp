//===- Joining.cpp - How a job's processes come together ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Joining.h"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

using namespace cp::runtime;

/// For ranks that come when it is over, and for what rank 0 says of it.
static constexpr std::chrono::milliseconds patience{1000};

std::string cp::runtime::toText(const Failure &failure) {
  return TextWriter()
      .number(uint64_t(failure.status))
      .text(std::string_view(failure.message).substr(0, maxLetterBytes / 2))
      .take();
}

Failure cp::runtime::failureOf(const Letter &letter) {
  TextReader reader(letter.text);
  uint64_t status = reader.number();
  std::string text = reader.text();
  bool isKnown = status > CPRT_OK && status <= CPRT_UNSUPPORTED;
  if (reader.hasFailed() || !isKnown)
    return {CPRT_PEER_FAILED, "rank " + std::to_string(letter.from) +
                                  " failed, and its text is not readable"};
  return {cprt_status(status), std::move(text)};
}

static Failure absenceOf(int64_t rank, const std::string &why) {
  return {CPRT_PEER_FAILED,
          "rank " + std::to_string(rank) + " does not join: " + why};
}

/// In time that depends on the lengths alone.
static bool isSameSecret(const std::string &a, const std::string &b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= unsigned(a[i] ^ b[i]);
  return difference == 0;
}

std::string Joining::hello() const {
  return TextWriter()
      .text(job.token)
      .numbers(job.mesh)
      .number(job.program)
      .text(job.own)
      .take();
}

static int msUntil(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 1000));
}

Error Joining::enter(std::vector<Connection> &connections) {
  File socket;
  if (Error failure = job.address.connect(deadline, socket))
    return failure;
  connections.emplace_back(std::move(socket));
  Connection &hub = connections[0];
  hub.send({Letter::Kind::Hello, job.rank, 0, hello()});
  while (hub.isOpen()) {
    hub.flush();
    pollfd polled = {hub.fd(), POLLIN, 0};
    ::poll(&polled, 1, std::max(msUntil(deadline), 1));
    hub.fill();
    while (std::optional<Letter> letter = hub.next()) {
      if (letter->kind == Letter::Kind::Welcome)
        return std::nullopt;
      bool isKnown = letter->from >= 0 && letter->from < job.size;
      if (letter->kind != Letter::Kind::Address || !isKnown)
        return failureOf(*letter);
      addresses[size_t(letter->from)] = std::move(letter->text);
    }
    // Rank 0 gives up at its own deadline, and says why.
    if (Clock::now() >= deadline + patience / 2)
      return Failure{CPRT_TIMEOUT,
                     "the ranks did not all join within the deadline; look at "
                     "what rank 0 says"};
  }
  return Failure{CPRT_PEER_FAILED,
                 "rank 0 closed the connection at '" + job.address.text() +
                     "'; look whether it is this job's, and at what it says"};
}

namespace {
/// However it goes, nothing of the address is left.
struct Forgetting {
  const Address &address;
  ~Forgetting() { address.forget(); }
};
} // namespace

Error Joining::decline(const std::string &why) {
  if (job.rank == 0) {
    File listener = std::move(job.listener);
    if (!listener)
      if (Error failure = job.address.listen(listener))
        return failure;
    Forgetting forgetting{job.address};
    size_t told = dismissLate(listener, 0, absenceOf(0, why), deadline);
    if (told + 1 == size_t(job.size))
      return std::nullopt;
    return Failure{CPRT_TIMEOUT,
                   "only " + std::to_string(told) + " ranks came to be told"};
  }
  File socket;
  if (Error failure = job.address.connect(deadline, socket))
    return failure;
  Connection hub(std::move(socket));
  hub.send({Letter::Kind::Decline, job.rank, 0,
            TextWriter().text(job.token).text(why).take()});
  // Rank 0 has read it when it answers, or goes.
  while (hub.isOpen() && !hub.next() && Clock::now() < deadline) {
    hub.flush();
    pollfd polled = {hub.fd(), POLLIN, 0};
    ::poll(&polled, 1, std::max(msUntil(deadline), 1));
    hub.fill();
  }
  return std::nullopt;
}

/// Gives a guest its place. What it gets wrong is told to it, and is a failure
/// of this job if it belongs to it.
Error Joining::seat(Connection &guest, const Letter &hello,
                    std::vector<Connection> &connections) {
  TextReader reader(hello.text);
  std::string token = reader.text();
  bool declines = hello.kind == Letter::Kind::Decline;
  if (declines && !reader.hasFailed() && isSameSecret(token, job.token))
    return absenceOf(hello.from, reader.text());
  std::vector<int64_t> mesh = reader.numbers();
  uint64_t program = reader.number();
  std::string address = reader.text();
  auto turnAway = [&](const Failure &failure) {
    guest.send({Letter::Kind::Failure, 0, hello.from, toText(failure)});
    guest.flush();
    guest.close();
  };
  if (hello.kind != Letter::Kind::Hello || reader.hasFailed() ||
      !isSameSecret(token, job.token)) {
    ++numTurnedAway;
    turnAway({CPRT_INVALID_ARGUMENT,
              "the job's token is not the one of rank 0 at '" +
                  job.address.text() + "'; give all processes of a job one"});
    return std::nullopt;
  }
  std::string who = "rank " + std::to_string(hello.from);
  if (mesh != job.mesh)
    return Failure{CPRT_MISMATCH,
                   who + " has mesh " + listText(mesh.data(), mesh.size()) +
                       ", rank 0 has " +
                       listText(job.mesh.data(), job.mesh.size()) +
                       "; start all of them with one program and mesh"};
  if (program != job.program)
    return Failure{CPRT_MISMATCH,
                   who + " runs program " + std::to_string(program) +
                       ", rank 0 runs " + std::to_string(job.program) +
                       "; give all ranks the same file and the same flags"};
  if (hello.from < 1 || hello.from >= job.size)
    return Failure{CPRT_MISMATCH, who + " is not in a mesh of " +
                                      std::to_string(job.size) + " ranks"};
  if (connections[size_t(hello.from)].isOpen())
    return Failure{CPRT_MISMATCH, "two processes say that they are " + who +
                                      "; give each a rank of its own"};
  addresses[size_t(hello.from)] = std::move(address);
  connections[size_t(hello.from)] = std::move(guest);
  guest = Connection();
  return std::nullopt;
}

/// Waits for a while for somebody to come or to say something.
Error Joining::attend(const File &listener, std::vector<Connection> &guests,
                      std::vector<Connection> &connections) {
  std::vector<pollfd> polled = {{listener.get(), POLLIN, 0}};
  for (const Connection &guest : guests)
    polled.push_back({guest.fd(), POLLIN, 0});
  ::poll(polled.data(), nfds_t(polled.size()), msUntil(deadline));
  for (Connection &guest : guests) {
    guest.fill();
    if (std::optional<Letter> letter = guest.next())
      if (Error failure = seat(guest, *letter, connections))
        return failure;
  }
  guests.erase(
      std::remove_if(guests.begin(), guests.end(),
                     [](const Connection &guest) { return !guest.isOpen(); }),
      guests.end());
  // Those who say nothing make way for those who come.
  while (guests.size() > size_t(job.size) + 64)
    guests.erase(guests.begin());
  if (polled[0].revents)
    if (File socket{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)})
      guests.emplace_back(std::move(socket));
  return std::nullopt;
}

void Joining::dismiss(std::vector<Connection> &guests,
                      std::vector<Connection> &connections,
                      const Failure &failure) {
  for (std::vector<Connection> *list : {&guests, &connections})
    for (Connection &each : *list) {
      each.send({Letter::Kind::Failure, 0, everyone, toText(failure)});
      each.flush();
    }
}

/// Ranks that come when it is over are told too, until `last`: they would try
/// to reach a rank 0 that is gone until their deadline. `told` know it already.
/// How many do then.
size_t Joining::dismissLate(const File &listener, size_t told,
                            const Failure &failure,
                            Clock::time_point last) const {
  std::vector<Connection> late;
  while (told + late.size() < size_t(job.size - 1) && Clock::now() < last) {
    pollfd polled = {listener.get(), POLLIN, 0};
    ::poll(&polled, 1, std::min(msUntil(last), 100));
    if (!polled.revents)
      continue;
    if (File socket{
            ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)}) {
      late.emplace_back(std::move(socket));
      late.back().send({Letter::Kind::Failure, 0, everyone, toText(failure)});
      late.back().flush();
    }
  }
  // To close a connection of which something was not read takes back what was
  // written.
  for (Connection &each : late) {
    pollfd polled = {each.fd(), POLLIN, 0};
    ::poll(&polled, 1, std::min(msUntil(last), 100));
    each.fill();
  }
  return told + late.size();
}

/// Rank 0's thread sends what does not go at once.
void Joining::welcome(std::vector<Connection> &connections) const {
  for (Connection &connection : connections) {
    for (int64_t rank = 0; rank < job.size; ++rank)
      if (!addresses[size_t(rank)].empty())
        connection.send(
            {Letter::Kind::Address, rank, everyone, addresses[size_t(rank)]});
    connection.send({Letter::Kind::Welcome, 0, everyone, ""});
    connection.flush();
  }
}

/// Why ranks may not have come.
std::string Joining::reasons() const {
  if (numTurnedAway == 0)
    return job.address.doubt();
  std::string came = numTurnedAway == 1
                         ? "1 process has"
                         : std::to_string(numTurnedAway) + " processes have";
  return "; " + came +
         " come with another token: give all of the job one (CPRT_TOKEN)";
}

Error Joining::gather(std::vector<Connection> &connections) {
  connections.resize(size_t(job.size));
  if (job.size == 1)
    return std::nullopt;
  File listener = std::move(job.listener);
  if (!listener)
    if (Error failure = job.address.listen(listener))
      return failure;
  Forgetting forgetting{job.address};
  std::vector<Connection> guests;
  auto missing = [&] {
    std::vector<int64_t> ranks;
    for (int64_t rank = 1; rank < job.size; ++rank)
      if (!connections[size_t(rank)].isOpen())
        ranks.push_back(rank);
    return ranks;
  };
  while (true) {
    std::vector<int64_t> ranks = missing();
    if (ranks.empty())
      break;
    Error failure = attend(listener, guests, connections);
    if (!failure && Clock::now() >= deadline)
      failure = Failure{CPRT_TIMEOUT,
                        "ranks " + listText(ranks.data(), ranks.size()) +
                            " did not join at '" + job.address.text() +
                            "' within the deadline; look whether they run, and "
                            "reach it" +
                            reasons()};
    if (!failure)
      continue;
    dismiss(guests, connections, *failure);
    if (failure->status != CPRT_TIMEOUT)
      dismissLate(listener,
                  guests.size() + size_t(job.size - 1) - missing().size(),
                  *failure, std::min(deadline, Clock::now() + patience));
    return failure;
  }
  welcome(connections);
  return std::nullopt;
}
