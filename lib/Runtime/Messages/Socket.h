//===- Socket.h - Connections between the processes of a job ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_SOCKET_H
#define CP_LIB_RUNTIME_MESSAGES_SOCKET_H

#include "Core/Clock.h"
#include "Core/Status.h"
#include "Letter.h"

#include <string>

namespace cp::runtime {

/// A file descriptor that closes itself.
class File {
public:
  File() = default;
  explicit File(int fd) : fd(fd) {}
  File(File &&other) noexcept : fd(other.fd) { other.fd = -1; }
  File &operator=(File &&other) noexcept;
  ~File();
  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }

private:
  int fd = -1;
};

/// "host:port", "[v6]:port" or "unix:path". What cannot be used is
/// CPRT_UNSUPPORTED, with what the system says.
class Address {
public:
  static Error parse(const char *text, Address &address);

  /// Whether no other machine can reach it.
  bool isLocal() const;
  Error listen(File &listener) const;
  /// Tries until the deadline: the other side may not listen yet.
  Error connect(Clock::time_point deadline, File &connection) const;
  /// For rank 0, whom nobody has reached: that its machine has not the address,
  /// a number, to be put behind what else is said; nothing if it may have.
  std::string doubt() const;
  /// Removes what a listener leaves in the file system, if it does.
  void forget() const;
  const std::string &text() const { return written; }

private:
  Error connectOnce(File &connection) const;
  template <typename Fn> Error forEachName(bool isPassive, Fn fn) const;

  std::string written, host, port, path;
};

/// Letters over a connection that neither reading nor writing waits for.
class Connection {
public:
  Connection() = default;
  explicit Connection(File socket);

  int fd() const { return socket.get(); }
  bool isOpen() const { return bool(socket); }
  void close() { socket = File(); }

  void send(const Letter &letter) {
    if (isOpen())
      unsent += toWire(letter);
  }
  bool hasUnsent() const { return !unsent.empty(); }
  /// Writes as much as goes; closes when the other side has gone.
  void flush();
  /// Reads what there is; closes when the other side has gone, or writes what
  /// is no letter.
  void fill();
  std::optional<Letter> next() { return reader.next(); }

private:
  File socket;
  LetterReader reader;
  std::string unsent;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_SOCKET_H
