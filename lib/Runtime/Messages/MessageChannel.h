//===- MessageChannel.h - A group whose ranks send messages -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_MESSAGECHANNEL_H
#define CP_LIB_RUNTIME_MESSAGES_MESSAGECHANNEL_H

#include "Core/Channel.h"
#include "MessageWait.h"
#include "MessageWorld.h"
#include "Mirrors.h"

#include <deque>

namespace cp::runtime {

/// Sends what a peer takes, and receives what this rank does: a message for
/// each peer and round, and for each piece.
class MessageChannel final : public Channel {
public:
  MessageChannel(MessageWorld &world, cprt_context &context,
                 std::vector<int64_t> ranks, int64_t position);
  ~MessageChannel() override;

  Error enter(const Visit &visit, MovesFn moves) override;
  Error nextRound(MovesFn moves) override;
  Error take(int64_t from, Taken &taken) override;
  Failure failAll(Failure failure) override {
    return world.end(std::move(failure));
  }
  void depart() override {}
  void leave() override;
  void offer(int64_t to, const char *data, int64_t bytes, Lane lane) override;
  Error publish(uint64_t) override { return std::nullopt; }
  Error reclaim(Lane lane, int64_t pending) override;
  Error window(int64_t from, Piece piece, const char *&data) override;
  Error await(int64_t from, uint64_t progress, const char *data, int64_t bytes,
              Lane lane) override;
  bool arrivesMeanwhile() const override { return true; }
  void beginWork() override { world.wire.carryOn(); }
  void endWork() override { world.wire.rest(); }
  Error expect(int64_t from, Piece piece, char *data, Lane lane) override;
  Error fetch(int64_t from, uint64_t progress, Piece piece, char *data,
              Lane lane) override;

private:
  /// Messages that have been posted and not waited for.
  using Queue = std::deque<Posted>;
  /// What comes from one peer in a round.
  struct Incoming {
    List<Move> moves;
    List<Packed> packed;
    char *memory = nullptr;
    bool isThere = false;
    Posted posted = {nullptr, 0};
  };
  /// Tags of what is not a lane's.
  static constexpr int32_t roundLane = 2, paceLane = 3, numLanes = 4,
                           numPieceLanes = 2;

  Error keepPace();
  Error startRound(MovesFn moves);
  Error outgoing(int64_t to, MovesFn moves, cprt_message &made);
  cprt_message incomingOf(int64_t from, MovesFn moves);
  Mirrors &mirrorsOfCall() { return visit->queue ? onDevice : mirrors; }
  cprt_message message(int64_t peer, bool isReceive, int32_t lane,
                       const char *data, int64_t bytes) const;
  Error post(const std::vector<cprt_message> &messages,
             std::vector<void *> &requests, DeviceQueue *queue = nullptr);
  Error receive(int64_t from, char *data, int64_t bytes, Lane lane);
  MessageWait patience() const;
  Error wait(Posted &posted) { return patience().wait(posted); }
  Error settle(Posted &posted) {
    return isFollowed() ? trail(posted) : wait(posted);
  }
  Error settle(Queue &queue, size_t pending);
  bool isFollowed() const;
  Error settleRound();
  Error follow(Posted &posted);
  Error trail(Posted &posted);
  void abandon();
  void forget();

  MessageWorld &world;
  cprt_context &context;
  /// By position.
  const std::vector<int64_t> ranks;
  const int64_t position;
  Whereabouts::Calls &calls;

  const Visit *visit = nullptr;
  WaitedCall called = {};
  int32_t tag = 0;
  uint64_t numEntered = 0;
  /// What a barrier says.
  char heard = 0;
  /// By position; of this round.
  std::vector<Incoming> incoming;
  /// What has been sent, by lane.
  Queue sent[numLanes];
  /// What is expected of a lane's pieces.
  Queue expected[numPieceLanes];
  /// One that is being waited for outside of a queue.
  Posted current = {nullptr, 0};
  Mirrors mirrors, onDevice;
  /// Kept for their memory.
  std::vector<cprt_message> messages;
  std::vector<void *> requests;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_MESSAGECHANNEL_H
