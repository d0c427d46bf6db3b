//===- Control.cpp - How the ranks of a job hear of each other ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Control.h"

#include "Joining.h"

#include <algorithm>
#include <new>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace cp::runtime;

/// For what a rank still has to say when it goes.
static constexpr std::chrono::milliseconds farewellTime{500};

Error Control::join(const Job &job, Clock::time_point deadline,
                    std::unique_ptr<Control> &control,
                    std::vector<std::string> &addresses) {
  control.reset(new Control(job));
  Joining joining(job, deadline, addresses);
  if (Error failure = job.rank == 0 ? joining.gather(control->connections)
                                    : joining.enter(control->connections))
    return failure;
  control->hasLeft.resize(control->connections.size());
  control->waker = File(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!control->waker)
    return Failure{CPRT_UNSUPPORTED, "the system gives no event to wait for"};
  return std::nullopt;
}

void Control::listen(Listener &heard) {
  listener = &heard;
  thread = std::thread([this] { run(); });
}

void Control::stop(std::chrono::milliseconds most) {
  if (!thread.joinable())
    return;
  limit = most;
  send({Letter::Kind::Bye, rank, everyone, ""});
  ends = true;
  wake();
  thread.join();
}

void Control::wake() {
  uint64_t one = 1;
  // A full counter wakes too.
  [[maybe_unused]] ssize_t written = ::write(waker.get(), &one, sizeof one);
}

void Control::send(Letter letter) {
  letter.from = rank;
  {
    std::lock_guard<std::mutex> lock(mutex);
    outgoing.push_back(std::move(letter));
  }
  wake();
}

/// Puts a letter on the connections that lead to whom it is for.
void Control::route(const Letter &letter) {
  if (rank != 0) {
    connections[0].send(letter);
    return;
  }
  for (int64_t to = 1; to < size; ++to)
    if (to != letter.from && (letter.to == everyone || letter.to == to))
      connections[size_t(to)].send(letter);
}

void Control::collect() {
  std::vector<Letter> letters;
  {
    std::lock_guard<std::mutex> lock(mutex);
    letters.swap(outgoing);
  }
  for (const Letter &letter : letters)
    route(letter);
}

/// Hears what has come over a connection, and hands on what is for others.
void Control::receive(size_t peer) {
  Connection &connection = connections[peer];
  connection.fill();
  while (std::optional<Letter> letter = connection.next()) {
    bool isForged = rank == 0 && letter->from != int64_t(peer);
    if (isForged) {
      connection.close();
      break;
    }
    bool isForUs = letter->to == rank || letter->to == everyone;
    if (letter->kind == Letter::Kind::Bye && letter->from == int64_t(peer))
      hasLeft[peer] = true;
    if (rank == 0)
      route(*letter);
    if (isForUs && !ends)
      listener->hear(*letter);
  }
  if (!connection.isOpen() && !hasLeft[peer]) {
    hasLeft[peer] = true;
    listener->lose(int64_t(peer));
  }
}

/// Waits for something to do, and does it.
void Control::turn(int timeoutMs) {
  std::vector<pollfd> polled = {{waker.get(), POLLIN, 0}};
  std::vector<size_t> peers;
  for (size_t peer = 0; peer < connections.size(); ++peer) {
    Connection &connection = connections[peer];
    if (!connection.isOpen())
      continue;
    short events = POLLIN;
    if (connection.hasUnsent())
      events |= POLLOUT;
    polled.push_back({connection.fd(), events, 0});
    peers.push_back(peer);
  }
  if (::poll(polled.data(), nfds_t(polled.size()), timeoutMs) < 0)
    return;
  if (polled[0].revents) {
    uint64_t count;
    [[maybe_unused]] ssize_t read = ::read(waker.get(), &count, sizeof count);
  }
  for (size_t i = 0; i < peers.size(); ++i)
    if (polled[i + 1].revents & (POLLIN | POLLHUP | POLLERR))
      receive(peers[i]);
  collect();
  for (size_t peer : peers)
    connections[peer].flush();
}

/// Sends what is left. Rank 0 goes on handing letters on.
void Control::takeLeave() {
  Clock::time_point last =
      Clock::now() + (rank == 0 ? std::max(limit, farewellTime) : farewellTime);
  auto isNeeded = [&] {
    for (size_t peer = 0; peer < connections.size(); ++peer)
      if (connections[peer].isOpen() &&
          (connections[peer].hasUnsent() || (rank == 0 && !hasLeft[peer])))
        return true;
    return false;
  };
  collect();
  for (Connection &connection : connections)
    connection.flush();
  while (isNeeded() && Clock::now() < last)
    turn(20);
}

void Control::run() try {
  // What came together with the welcome.
  for (size_t peer = 0; peer < connections.size(); ++peer)
    if (connections[peer].isOpen())
      receive(peer);
  while (!ends)
    turn(-1);
  takeLeave();
} catch (const std::bad_alloc &) {
  // Connections close, which the others see.
  connections.clear();
}
