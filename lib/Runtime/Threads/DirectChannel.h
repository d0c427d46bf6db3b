//===- DirectChannel.h - Ranks that read each other's memory ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_THREADS_DIRECTCHANNEL_H
#define CP_LIB_RUNTIME_THREADS_DIRECTCHANNEL_H

#include "Core/Channel.h"
#include "Meeting.h"

namespace cp::runtime {

/// All that is read of a peer's memory is read here.
class DirectChannel final : public Channel {
public:
  /// The group of `context`, by position.
  DirectChannel(cprt_context &context, Meeting &meeting,
                std::vector<size_t> slots, int64_t position)
      : context(context), meeting(meeting), slots(std::move(slots)),
        position(position) {}
  ~DirectChannel() override;

  Error enter(const Visit &visit, MovesFn moves) override;
  Error nextRound(MovesFn moves) override;
  Error take(int64_t from, Taken &taken) override;
  Failure failAll(Failure failure) override;
  void depart() override;
  void leave() override;
  void offer(int64_t to, const char *data, int64_t bytes, Lane lane) override;
  Error publish(uint64_t progress) override;
  Error reclaim(Lane lane, int64_t pending) override;
  Error window(int64_t from, Piece piece, const char *&data) override;
  Error await(int64_t from, uint64_t progress, const char *data, int64_t bytes,
              Lane lane) override;
  bool arrivesMeanwhile() const override { return false; }
  Error expect(int64_t, Piece, char *, Lane) override { return std::nullopt; }
  Error fetch(int64_t from, uint64_t progress, Piece piece, char *data,
              Lane lane) override;

private:
  Participant &at(int64_t peer) const {
    return meeting.at(slots[size_t(peer)]);
  }
  Error awaitProgress(int64_t peer, uint64_t progress);
  Error mark(void *&event);
  Error followPeer(int64_t peer);
  void followPeers();

  cprt_context &context;
  Meeting &meeting;
  /// By position: the slot in the meeting, which counts ranks ascending.
  const std::vector<size_t> slots;
  const int64_t position;

  Participant mine;
  const Visit *visit = nullptr;
  MovesFn moves;
  uint64_t round = 0, departure = 0;
  /// Of a visit with a queue that orders itself: whose reads it comes behind.
  std::vector<Participant *> peers;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_THREADS_DIRECTCHANNEL_H
