//===- Transport.h - Messages over NCCL -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//
// NCCL has no tags, and its messages are launches of a stream, which wait there
// for the other rank. So messages are kept until their rank looks at one of
// them, or works, and those of an order then go as one group; orders that may
// differ between ranks have communicators and queues of their own.
//
// Messages in the host's memory pass through blocks of the card's. What is
// copied there is so on a queue that waits for no other rank, and what came is
// copied from there once it is there, so that a message which is given up
// leaves the host's memory alone. Those in the card's memory stay where they
// are; the rank's own queue may go on behind them (follow), and one of these
// that is given up ends the communicators, or the queue would hang.
//
// Nothing waits on the host: whoever asks is told how far things are, and it is
// the runtime that knows deadlines.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_NCCL_TRANSPORT_H
#define CP_LIB_RUNTIME_PLUGINS_NCCL_TRANSPORT_H

#include "Blocks.h"
#include "Lane.h"

#include <array>
#include <chrono>
#include <memory>

namespace cp::nccl {

/// The transport of one rank. Its functions are those of cprt_transport, and
/// are called as those are.
class Transport {
public:
  /// `place` lives as long as this.
  Transport(const Api &api, int64_t rank, int64_t size,
            std::shared_ptr<const void> place = nullptr)
      : api(api), rank(rank), size(size), place(std::move(place)) {}
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;
  /// Ends what is under way, and waits for it but for so long; what NCCL does
  /// not let go stays.
  ~Transport();

  /// Fills in the table, whose `destroy` deletes this.
  void describe(cprt_transport &table);

private:
  using Clock = std::chrono::steady_clock;

  cprt_status address(const void **data, size_t *bytes);
  cprt_status connect(const void *const *addresses, const size_t *bytes);
  cprt_status bind(const cprt_device *where, void *queue, int64_t deadlineMs);
  cprt_status awaitLanes(size_t count, Clock::time_point last);
  cprt_status post(const cprt_message *messages, int64_t count, void **requests,
                   void *behind);
  cprt_status test(void **request, int32_t *done);
  void cancel(void *request);
  cprt_status follow(Message &message, void *follower, int32_t *done);
  cprt_status carryOn();
  cprt_status checkLanes();

  using Envelopes = std::array<std::shared_ptr<Envelope>, numLanes>;
  cprt_status begin(Message &message, Envelopes &envelopes);
  cprt_status look(Message &message, int32_t *done);
  cprt_status land(Message &message);
  void release(Message *message);
  size_t laneOf(const cprt_message &message) const {
    return cp::nccl::laneOf(message, rank);
  }
  bool endComms(bool failed);
  void endEarly();

  const Api api;
  const int64_t rank, size;
  const std::shared_ptr<const void> place;
  UniqueId id = {};
  Faults faults;
  const cprt_device *device = nullptr;
  /// Between the host and the card: never waits for another rank.
  void *copies = nullptr;
  /// What has been brought to the card, and what a queue has been given.
  void *copied = nullptr, *given = nullptr;
  std::unique_ptr<Blocks> blocks;
  std::array<Lane, numLanes> lanes;
  /// Whether the communicators have been ended, and whether they did end.
  bool hasFailed = false, isOver = false, isStuck = false;
};

} // namespace cp::nccl

#endif // CP_LIB_RUNTIME_PLUGINS_NCCL_TRANSPORT_H
