//===- Channel.h - How a rank reaches the others of a group -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The seam between collectives and whatever carries their bytes. A collective
// moves data in two ways, and says of both what either side does:
//
//  - Moves between the buffers of the call, in rounds in which every rank may
//    take of every other.
//  - Pieces of *staged* memory, which a rank fills as it goes on. It offers
//    each piece to the rank that wants it; that one looks at it through a
//    window, or copies it. Between two ranks, pieces of one lane are asked for
//    in the order in which they were offered.
//
// Where ranks share memory (Threads), who takes reads, and offering does
// nothing but count: what a piece waits for is the progress that its owner has
// published, a number that only grows and means what the collective says. Where
// they do not (Messages), offering sends, windows are memory of the taker's,
// and progress means nothing. What a rank expects comes while it computes.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_CHANNEL_H
#define CP_LIB_RUNTIME_CHANNEL_H

#include "Counters.h"
#include "DeviceQueue.h"
#include "Moves.h"
#include "Status.h"

namespace cp::runtime {

/// Moves as the taker finds them.
struct Taken {
  List<Move> moves;
  /// One for each move: what to read, and the maps to read it by.
  struct View {
    Buffer buffer;
    const List<DimMap> *maps;
    /// Whether the elements are in the move's target already.
    bool isThere;
  };
  List<View> views;
};

/// A piece of what a rank has staged, from its start.
struct Piece {
  int64_t offset, bytes;
};

/// Which of a rank's pieces are in order among each other.
enum class Lane : int32_t { First = 0, Second = 1 };

/// What a rank brings to a collective; stays where it is until the rank leaves.
struct Visit {
  const Descriptor &call;
  Counter &counter;
  /// Null when the collective stages nothing.
  char *staged = nullptr;
  /// Whether moves between buffers count as traffic.
  bool countsMoves = true;
  /// Where the call's buffers and what is staged are; null where they are in
  /// the host's memory. The host waits then for no more than that a rank has
  /// given its queue what another one's waits for.
  DeviceQueue *queue = nullptr;
};

/// One rank's end of a group of several, for one collective at a time. Calls
/// come between enter() and leave(), in this order but for leave(), which may
/// come after any failure. Positions are never this rank's own.
class Channel {
public:
  virtual ~Channel() = default;

  /// Begins a collective and its first round. CPRT_MISMATCH when calls differ,
  /// CPRT_TIMEOUT when a rank stays away, the world's failure when there is
  /// one: now, or when something is awaited.
  virtual Error enter(const Visit &visit, MovesFn moves) = 0;
  /// Begins another round, of buffers that are complete by now.
  virtual Error nextRound(MovesFn moves) = 0;
  /// Waits for what this rank takes of `from` in this round.
  virtual Error take(int64_t from, Taken &taken) = 0;
  /// Ends the collective, and the world, with a failure that every rank would
  /// find: all of them get it, or an earlier one, which is returned.
  virtual Failure failAll(Failure failure) = 0;
  /// This rank takes no more of the others, and asks nothing of them below.
  virtual void depart() = 0;
  /// Returns when nobody reads this rank's memory any more; of a visit with a
  /// queue, what that is given from now on comes behind who does.
  virtual void leave() = 0;

  /// Lets `to` have bytes of this rank's staged memory, which do not change
  /// before leave() or reclaim() has returned.
  virtual void offer(int64_t to, const char *data, int64_t bytes,
                     Lane lane) = 0;
  /// Says how far this rank is; once what that means has been offered.
  virtual Error publish(uint64_t progress) = 0;
  /// Returns when but the last `pending` pieces that this rank offered in a
  /// lane may be written over, as far as the collective does not know by what
  /// it took since.
  virtual Error reclaim(Lane lane, int64_t pending) = 0;
  /// Where a piece of what `from` has staged, or parts of it, are once they are
  /// awaited; until leave().
  virtual Error window(int64_t from, Piece piece, const char *&data) = 0;
  /// Waits for a piece (of a window) at `data`, and that `from` has published
  /// `progress`.
  virtual Error await(int64_t from, uint64_t progress, const char *data,
                      int64_t bytes, Lane lane) = 0;
  /// Whether what a rank begins to take comes while it does something else, the
  /// moves of a round and the pieces that it expects: no peer has to be read.
  virtual bool arrivesMeanwhile() const = 0;
  /// Between both the rank computes, and nothing else is called.
  virtual void beginWork() {}
  virtual void endWork() {}
  /// Begins to receive what fetch() or await() then waits for: to the same
  /// place, and in the same order. Does nothing where pieces do not arrive by
  /// themselves. What ranks offer and take at once, all of them expect before
  /// they wait for any of it: an engine may send in the order of offers alone,
  /// and let nothing come behind a piece that nobody takes.
  virtual Error expect(int64_t from, Piece piece, char *data, Lane lane) = 0;
  /// Waits for a piece, and copies it to `data`.
  virtual Error fetch(int64_t from, uint64_t progress, Piece piece, char *data,
                      Lane lane) = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_CHANNEL_H
