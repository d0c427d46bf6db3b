//===- Socket.cpp - Connections between the processes of a job ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Socket.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace cp::runtime;

/// Between attempts to reach rank 0: the first, and the longest.
static constexpr std::chrono::milliseconds firstRetry{1}, lastRetry{50};

File &File::operator=(File &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

File::~File() {
  if (fd >= 0)
    ::close(fd);
}

static Failure unusable(const std::string &address, const std::string &why) {
  return {CPRT_UNSUPPORTED,
          "the address '" + address + "' cannot be used: " + why};
}

/// What a listener can do about an error; nothing for others.
static const char *adviceFor(int error) {
  switch (error) {
  case EADDRINUSE:
    return " by another process; end that one, or give the job a port of its "
           "own";
  case EADDRNOTAVAIL:
    return "; name this machine, on which rank 0 runs";
  case EACCES:
    return "; take a port above 1023, or a folder that this user may write to";
  case ENOENT:
    return "; make the folder first";
  default:
    return "";
  }
}

/// What the system says.
static std::string textOf(int error, bool listens) {
  // A connection that was waited for as long as one attempt may take.
  if (error == EINPROGRESS)
    return "nobody answers";
  return std::strerror(error) + std::string(listens ? adviceFor(error) : "");
}

/// 1 to 65535, in digits alone.
static bool isPort(const std::string &text) {
  bool areDigits =
      text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
  return areDigits && std::stoi(text) >= 1 && std::stoi(text) <= 65535;
}

Error Address::parse(const char *text, Address &address) {
  address.written = text ? text : "";
  const std::string &all = address.written;
  static constexpr std::string_view unixPrefix = "unix:";
  if (all.compare(0, unixPrefix.size(), unixPrefix) == 0) {
    address.path = all.substr(unixPrefix.size());
    if (address.path.empty() ||
        address.path.size() >= sizeof(sockaddr_un::sun_path))
      return unusable(all,
                      "a path has 1 to " +
                          std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                          " bytes");
    return std::nullopt;
  }
  size_t colon = all.rfind(':');
  auto malformed = [&] {
    return unusable(all, "expected host:port, [v6 address]:port or unix:path, "
                         "where rank 0 listens");
  };
  if (colon == std::string::npos || colon == 0 || colon + 1 == all.size())
    return malformed();
  address.host = all.substr(0, colon);
  address.port = all.substr(colon + 1);
  if (address.host.size() > 2 && address.host.front() == '[' &&
      address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.find_first_of("[]/") != std::string::npos)
    return malformed();
  if (!isPort(address.port))
    return unusable(all, "the port is '" + address.port +
                             "', expected a number from 1 to 65535");
  return std::nullopt;
}

/// Calls fn(name, bytes) for every name that the address stands for, until it
/// gives no error.
template <typename Fn> Error Address::forEachName(bool isPassive, Fn fn) const {
  if (!path.empty()) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), path.size());
    int error = fn(reinterpret_cast<sockaddr *>(&name), sizeof name);
    return error ? Error(unusable(written, textOf(error, isPassive)))
                 : std::nullopt;
  }
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = isPassive ? AI_PASSIVE : 0;
  // A name may stand for a loopback address on its own machine.
  const char *node = isPassive && !isLocal() ? nullptr : host.c_str();
  if (int code = ::getaddrinfo(node, port.c_str(), &hints, &found))
    return unusable(written, ::gai_strerror(code));
  int error = EADDRNOTAVAIL;
  for (addrinfo *each = found; each && error; each = each->ai_next)
    error = fn(each->ai_addr, each->ai_addrlen);
  ::freeaddrinfo(found);
  return error ? Error(unusable(written, textOf(error, isPassive)))
               : std::nullopt;
}

std::string Address::doubt() const {
  // To ask for a name may take longer than there is time.
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  if (!path.empty() ||
      ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
    return "";
  // A machine binds to its own addresses only.
  bool isOwn = false;
  for (addrinfo *each = found; each && !isOwn; each = each->ai_next) {
    File socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    isOwn = !socket || !::bind(socket.get(), each->ai_addr, each->ai_addrlen) ||
            errno != EADDRNOTAVAIL;
  }
  ::freeaddrinfo(found);
  return isOwn ? ""
               : "; the address is none of this machine's, where rank 0 is";
}

/// By what is written: a name may stand for another address on each machine.
bool Address::isLocal() const {
  return !path.empty() || host == "localhost" || host == "::1" ||
         host.compare(0, 4, "127.") == 0;
}

static File socketFor(const sockaddr *name) {
  return File(::socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

Error Address::listen(File &listener) const {
  File other;
  if (!path.empty() && !connectOnce(other))
    return unusable(written, "another process listens there");
  forget();
  return forEachName(
      /*isPassive=*/true, [&](const sockaddr *name, socklen_t size) {
        File socket = socketFor(name);
        int on = 1;
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (!socket || ::bind(socket.get(), name, size) ||
            ::listen(socket.get(), SOMAXCONN))
          return errno;
        listener = std::move(socket);
        return 0;
      });
}

void Address::forget() const {
  struct stat found = {};
  if (!path.empty() && ::lstat(path.c_str(), &found) == 0 &&
      S_ISSOCK(found.st_mode))
    ::unlink(path.c_str());
}

Error Address::connectOnce(File &connection) const {
  return forEachName(
      /*isPassive=*/false, [&](const sockaddr *name, socklen_t size) {
        File socket = socketFor(name);
        timeval most = {1, 0};
        ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        if (!socket || ::connect(socket.get(), name, size))
          return errno;
        connection = std::move(socket);
        return 0;
      });
}

Error Address::connect(Clock::time_point deadline, File &connection) const {
  for (auto retry = firstRetry;; retry = std::min(2 * retry, lastRetry)) {
    Error failure = connectOnce(connection);
    if (!failure)
      return std::nullopt;
    if (Clock::now() >= deadline)
      return Failure{CPRT_TIMEOUT,
                     "rank 0 could not be reached within the deadline: " +
                         failure->message +
                         "; look whether it runs, and listens there"};
    std::this_thread::sleep_for(retry);
  }
}

Connection::Connection(File taken) : socket(std::move(taken)) {
  // A machine that is gone is found out about within some seconds.
  int on = 1, idle = 5, interval = 2, probes = 3;
  unsigned unacknowledged = 10000;
  int fd = socket.get();
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged,
               sizeof unacknowledged);
}

static bool isLater(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

void Connection::flush() {
  while (isOpen() && !unsent.empty()) {
    ssize_t count =
        ::send(fd(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && isLater(errno))
      return;
    if (count <= 0) {
      // What it has said before it went is still to be read, and then its end.
      unsent.clear();
      return;
    }
    unsent.erase(0, size_t(count));
  }
}

void Connection::fill() {
  char bytes[4096];
  // Whoever floods us is read no faster than others.
  for (int i = 0; i < 16 && isOpen(); ++i) {
    ssize_t count = ::recv(fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && isLater(errno))
      return;
    if (count <= 0)
      return close();
    reader.add(bytes, size_t(count));
    if (reader.isMalformed())
      return close();
    if (count < ssize_t(sizeof bytes))
      return;
  }
}
