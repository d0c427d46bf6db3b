//===- Lane.h - Messages in one order ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_NCCL_LANE_H
#define CP_LIB_RUNTIME_PLUGINS_NCCL_LANE_H

#include "Api.h"
#include "Envelope.h"

#include "cp/Runtime/cprt_transport.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cp::nccl {

/// What has gone wrong, with its text.
class Faults {
public:
  cprt_status say(cprt_status status, std::string text);
  /// What a call of NCCL gave; in progress is no fault.
  cprt_status check(const Api &api, Result result, const char *call, Comm comm);
  /// What a call of the device gave.
  cprt_status check(cprt_status status, const cprt_device &device, void *queue);
  const char *text() const { return last.c_str(); }

private:
  std::string last;
};

/// Messages that were launched together, and how far they are.
struct Batch {
  Batch(const cprt_device &device, void *queue) : mark(device, queue) {}

  Mark mark;
  /// Whether the mark is behind them, and which queue is behind that.
  bool isMarked = false;
  void *follower = nullptr;
};

/// One message under way.
struct Message {
  cprt_message asked;
  /// Whether its bytes are on the card already.
  bool isThere = false;
  /// On the card: its header, and the bytes of one that is not.
  std::shared_ptr<Envelope> envelope;
  size_t number = 0;
  void *block = nullptr;
  void *data() const { return isThere ? asked.data : block; }
  /// Once it is launched.
  std::shared_ptr<Batch> batch;
  /// Of one that is received: whether it is being brought to the host, of which
  /// only the header needs to be where its bytes are on the card; and that its
  /// bytes have been.
  bool isLanding = false;
  std::optional<Mark> landed;
  /// When it was found to be of another call.
  std::chrono::steady_clock::time_point strange = {};
};

/// The lanes: what all ranks make at once, and of pieces those to higher and to
/// lower ranks, twice. Pieces of a direction cannot wait for each other in a
/// circle; those of both, in one order, could.
constexpr size_t numLanes = 5;
/// That of a message of this rank's.
size_t laneOf(const cprt_message &message, int64_t rank);

/// A communicator, and the queue that its messages are launched on.
class Lane {
public:
  /// Opens the queue, and begins to make the communicator: by itself, or of
  /// another one's ranks.
  cprt_status open(const Api &api, const cprt_device &device, void *beside,
                   Faults &faults);
  cprt_status start(UniqueId id, int rank, int size);
  cprt_status split(const Lane &from, int rank);
  /// Whether the communicator is there, and no call of it is under way.
  cprt_status isReady(bool &ready);

  void add(Message *message) { pending.push_back(message); }
  /// Gives up one that has not been launched. False if it has.
  bool remove(const Message *message);
  /// What is launched from now on comes behind an event.
  cprt_status holdFor(void *event);
  /// Launches what is pending, behind an event that may be null, unless a
  /// launch is under way.
  cprt_status carryOn(void *copied);

  /// The communicator, if there is one, to be ended: this lane has none then.
  Comm giveUp() { return std::exchange(comm, nullptr); }
  /// Once that has ended.
  void close();
  bool isOpen() const { return queue; }
  /// Whether all that was added is on its stream.
  bool hasStarted() const { return pending.empty() && !launching; }

private:
  cprt_status launch(void *copied);
  Result start(const Message &message, void *data, int64_t bytes, void *stream);

  const Api *api = nullptr;
  const cprt_device *device = nullptr;
  Faults *faults = nullptr;
  Comm comm = nullptr;
  void *queue = nullptr;
  std::vector<Message *> pending;
  std::shared_ptr<Batch> launching;
};

/// Ends a communicator; with what is under way if something has failed. NCCL
/// may not return from it.
void end(const Api &api, Comm comm, bool failed);

} // namespace cp::nccl

#endif // CP_LIB_RUNTIME_PLUGINS_NCCL_LANE_H
