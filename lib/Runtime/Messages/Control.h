//===- Control.h - How the ranks of a job hear of each other ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank has one connection to rank 0, which hands letters on. A thread of
// its own reads them, so that a rank answers while it computes. A connection
// that closes before its rank has said goodbye is a rank that has died.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_CONTROL_H
#define CP_LIB_RUNTIME_MESSAGES_CONTROL_H

#include "Socket.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace cp::runtime {

/// Who takes part, as each of them sees it.
struct Job {
  int64_t rank, size;
  Address address;
  std::string token;
  /// Must be the same on all ranks: the mesh, and the program.
  std::vector<int64_t> mesh;
  uint64_t program;
  /// This rank's in the transport.
  std::string own;
  /// Of rank 0, if it listens already.
  mutable File listener;
};

class Control {
public:
  /// Called from the thread of its own.
  class Listener {
  public:
    virtual ~Listener() = default;
    virtual void hear(const Letter &letter) = 0;
    /// That a rank has died.
    virtual void lose(int64_t rank) = 0;
  };

  /// Returns when all ranks have joined, with their addresses in the transport:
  /// CPRT_TIMEOUT when one does not until the deadline, CPRT_MISMATCH when two
  /// differ, CPRT_INVALID_ARGUMENT for a token that is not rank 0's.
  static Error join(const Job &job, Clock::time_point deadline,
                    std::unique_ptr<Control> &control,
                    std::vector<std::string> &addresses);
  ~Control() { stop({}); }

  /// From now on the listener hears what comes.
  void listen(Listener &listener);
  /// Sends a letter of this rank's, now or soon. From any thread.
  void send(Letter letter);
  /// Says goodbye; nothing is heard or sent from now on. Rank 0 hands letters
  /// on until the others have left too, at most for so long.
  void stop(std::chrono::milliseconds limit);

private:
  explicit Control(const Job &job) : rank(job.rank), size(job.size) {}

  void run();
  void turn(int timeoutMs);
  void takeLeave();
  void collect();
  void route(const Letter &letter);
  void receive(size_t peer);
  void wake();

  const int64_t rank, size;
  Listener *listener = nullptr;
  /// Of rank 0: by rank, its own unused. Of others: one, to rank 0. The
  /// thread's once it runs.
  std::vector<Connection> connections;
  std::vector<bool> hasLeft;
  File waker;
  std::thread thread;

  std::mutex mutex;
  /// Guarded by it.
  std::vector<Letter> outgoing;
  std::atomic<bool> ends{false};
  /// Set before.
  std::chrono::milliseconds limit{0};
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_CONTROL_H
