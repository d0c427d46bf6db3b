//===- Exchange.h - One collective, from entering to leaving ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_EXCHANGE_H
#define CP_LIB_RUNTIME_EXCHANGE_H

#include "Core/Channel.h"
#include "Core/Clock.h"
#include "Core/Context.h"

namespace cp::runtime {

/// One rank's stay in a collective: its channel (see Core/Channel.h), and what
/// it takes of itself, which needs none. Its destruction waits for the peers,
/// or on a device lets the rank's queue wait; whatever they take must outlive
/// that.
class Exchange {
public:
  Exchange(Context &context, const Descriptor &call, const Group &group,
           char *staged = nullptr);
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;
  ~Exchange();

  /// A scope in which the rank computes. The rest of an exchange's life is the
  /// time that its counter has as exposed.
  class Work {
  public:
    explicit Work(Exchange &exchange);
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;
    ~Work();

  private:
    Exchange &exchange;
    const Clock::time_point start;
  };

  /// Whether moves of the rounds that come next count as traffic.
  void countMoves(bool counts) { visit.countsMoves = counts; }

  /// Enters, with the moves of the first round. The function that says them
  /// must outlive the exchange. Failures as Channel::enter has them.
  Error enter(MovesFn moves = {});
  /// Begins another round; what `moves` take of this rank is complete.
  Error nextRound(MovesFn moves);
  /// Waits for what this rank takes of `from`, to be looked at.
  Error take(int64_t from, Taken &taken);
  /// Takes it, and copies it to where it goes.
  Error pull(int64_t from);
  /// The same of all ranks, beginning behind this one so that not all of them
  /// turn to the same one at once, and of this one when the others are free.
  Error pullAll();
  /// What this rank takes of each, itself too, in the order of positions, to be
  /// looked at.
  Error takeAll(List<Taken> &all);
  /// For what goes wrong on this rank between entering and leaving: its peers
  /// hear of it before it waits for them, who may wait for what it has not
  /// done.
  Error told(Error failure);
  /// For what every rank finds wrong: all get this failure, or an earlier one.
  Failure failAll(Failure failure);
  /// Lets the peers go as far as it is up to this rank: it takes nothing of
  /// theirs any more, and asks nothing of them below, but goes on with what is
  /// its own.
  void depart();
  /// Waits, as Channel::leave does, until no peer takes of this rank any more.
  void leave();

  /// Of staged memory, as in Channel; a rank offers nothing to itself, and what
  /// it wants of itself is there.
  void offer(int64_t to, Piece piece, Lane lane = Lane::First);
  Error publish(uint64_t progress);
  Error reclaim(Lane lane = Lane::First, int64_t pending = 0);
  Error window(int64_t from, Piece piece, const char *&data) const;
  Error await(int64_t from, uint64_t progress, const char *data, int64_t bytes,
              Lane lane = Lane::First) const;
  Error fetch(int64_t from, uint64_t progress, Piece piece, char *data,
              Lane lane = Lane::First) const;
  /// Whether what has been begun, a round or an expected piece, comes while
  /// this rank works.
  bool arrivesMeanwhile() const {
    return group.channel && group.channel->arrivesMeanwhile();
  }
  Error expect(int64_t from, Piece piece, char *data,
               Lane lane = Lane::First) const;

private:
  bool isOwn(int64_t position) const { return position == group.position; }
  void record();

  Context &context;
  const Descriptor &call;
  const Group &group;
  Visit visit;
  MovesFn moves;
  const Clock::time_point start;
  Clock::duration worked{0};
  /// In the rank's history; and what its counter had before.
  int64_t number = -1, bytesBefore = 0;
  bool isInside = false, hasDeparted = false;
};

/// Copies what has been taken of each rank as its move number `number` into
/// memory of the device, packed, `row` bytes apart.
Error packOnDevice(DeviceQueue &device, const Descriptor &call,
                   const List<Taken> &all, size_t number, char *memory,
                   int64_t row);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_EXCHANGE_H
