//===- KeyRing.h - Keys and values that go round ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block t is what a rank meets in step t: its own keys and values in step 0,
// then those of ever earlier positions, going round. A rank takes block t + 1
// from the previous one before it works on block t, or, where blocks come by
// themselves, while it does so; and hands it on from the slot it has put it in.
// There are two slots, so a rank may be one block ahead of the next: what it
// publishes says how far it is, which tells both what the next one can take
// from it and what the previous one may write over.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_KEYRING_H
#define CP_LIB_RUNTIME_KEYRING_H

#include "Core/Attention.h"
#include "Core/Copy.h"
#include "Exchange.h"

namespace cp::runtime {

/// An element of a batch, or below 0 all of them.
struct BatchPart {
  int64_t element = -1;
};

/// What a buffer has of such a part; a view, which is itself looked at.
class PartOf {
public:
  PartOf(const Buffer &whole, BatchPart part);
  PartOf(const PartOf &) = delete;
  PartOf &operator=(const PartOf &) = delete;

  const Buffer &buffer() const { return view; }

private:
  std::array<int64_t, maxRank> sizes;
  Buffer view;
};

/// What a checked call along a ring says of its rows.
struct RingRows {
  AttentionRule rule;
  /// Of the whole batch; or where documents differ, of each of its elements.
  const Positions *queries = nullptr, *keys = nullptr;
  bool isOfEach = false;
  int64_t numElements = 0;
  const Group *ranks = nullptr;

  const Group &group() const { return *ranks; }
  /// Calls work(part, queries, keys) for parts of the batch whose rows stand
  /// alike, until one fails.
  template <typename Fn> Error forEachPart(Fn work) const {
    if (!isOfEach)
      return work(BatchPart(), *queries, *keys);
    for (int64_t i = 0; i < numElements; ++i)
      if (Error failure = work(BatchPart{i}, queries[i], keys[i]))
        return failure;
    return std::nullopt;
  }
};

/// What such a call may leave out; null for what it does.
struct RingOptions {
  /// The queries'.
  const Buffer *places;
  /// The call's input that is cu_seqlens.
  size_t documents;
};
/// Reads them, of inputs 0 and 1 that are cut alike. CPRT_INVALID_ARGUMENT for
/// a rule that makes no sense, where an output is an input, and for an order
/// per document without documents.
Error readRingRows(Context &context, const Descriptor &call,
                   const AttentionRule &rule, const SequenceCut &cut,
                   const RingOptions &options, RingRows &rows);

/// Where the parts of a rank's staged memory begin; the same on all ranks.
class StagedParts {
public:
  /// Rounded up to what any element is aligned to.
  int64_t add(int64_t bytes);
  /// The memory of all parts, where the buffers of the call are; null where
  /// there is no room, or the bytes do not fit 63 bits.
  char *memoryOf(Context &context) const;

private:
  int64_t end = 0;
  bool fits = true;
};

/// At the start of the memory: peers read them.
struct KeySlots {
  KeySlots(StagedParts &parts, const Buffer &k, const Buffer &v,
           int64_t numRanks);
  /// By slot.
  int64_t keys[2] = {}, values[2] = {};
};

/// One rank's way round, between entering and leaving. The call's inputs 1 and
/// 2 are keys and values.
class KeyRing {
public:
  /// `memory` is what the exchange has staged.
  KeyRing(Exchange &exchange, const Descriptor &call, const Group &group,
          const KeySlots &slots, char *memory)
      : exchange(exchange), call(call), group(group), slots(slots),
        memory(memory), firstSlots{keys(1), values(1)} {}

  /// What a rank has published when it has taken block t + 1, and may publish
  /// when it has done with block t.
  static uint64_t hasTaken(int64_t t) { return 2 * uint64_t(t) + 1; }
  static uint64_t hasDone(int64_t t) { return 2 * uint64_t(t) + 2; }

  /// The moves of the first round: every rank's own block, to the next one.
  struct OwnBlock {
    const KeyRing &ring;
    void operator()(int64_t to, int64_t from, List<Move> &list) const {
      ring.moveOwn(to, from, list);
    }
  };
  /// Before the work on block t: takes block t + 1, when there is one, or
  /// begins to.
  Error begin(int64_t t);
  /// Behind it: block t + 1 is there.
  Error finish(int64_t t);
  /// Of block t >= 1.
  Contiguous keys(int64_t t) const;
  Contiguous values(int64_t t) const;
  /// The position that is so far round.
  int64_t around(int64_t offset) const {
    return (group.position + offset + group.size) % group.size;
  }

private:
  void moveOwn(int64_t to, int64_t from, List<Move> &list) const;
  Piece piece(int64_t t, size_t which) const;
  char *place(int64_t t, size_t which) const {
    return memory + piece(t, which).offset;
  }
  Error take(int64_t t);

  Exchange &exchange;
  const Descriptor &call;
  const Group &group;
  const KeySlots &slots;
  char *memory;
  /// Where block 1 comes.
  Contiguous firstSlots[2];
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_KEYRING_H
