//===- Exchange.h - One collective, from entering to leaving ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_EXCHANGE_H
#define CP_LIB_RUNTIME_EXCHANGE_H

#include "Core/Context.h"
#include "Participant.h"

namespace cp::runtime {

/// Makes peers' inputs readable between enter() and depart() or leave(); its
/// destruction waits for the peers. Whatever peers read must outlive it.
class Exchange {
public:
  Exchange(Context &context, const Descriptor &call, const Group &group);
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;
  ~Exchange() { leave(); }

  /// Returns when all ranks of the group are here with the same call; in a
  /// group of one at once. CPRT_MISMATCH when calls differ or ranks wait for
  /// each other in different groups, CPRT_TIMEOUT when one stays away, and the
  /// world's failure when there is one.
  Error enter();
  /// Lets the peers go as far as it is up to this rank: it reads nothing of
  /// theirs any more, and asks nothing of them below, but goes on with what is
  /// its own.
  void depart();
  /// Waits until no peer reads from this rank any more.
  void leave();

  /// The call of the rank at `position`, and input `i` of it.
  const Descriptor &call(int64_t position) const { return *at(position).call; }
  const Buffer &input(int64_t position, size_t i) const {
    return call(position).in(i);
  }
  /// Counts bytes copied from the rank at `position`; own ones do not count.
  void took(int64_t position, int64_t bytes) const;

  /// For collectives that hand on what they compute: memory that peers may
  /// read, set before entering. How much of it is ready is a number that only
  /// grows from 0, and means what the collective says.
  void setSummary(const char *summary) { mine.summary = summary; }
  const char *summary(int64_t position) const { return at(position).summary; }
  void publish(uint64_t progress);
  /// Waits until the rank at `position` has published `progress` or more; its
  /// own is not waited for.
  Error await(int64_t position, uint64_t progress) const;

private:
  Participant &at(int64_t position) const;

  Context &context;
  const Group &group;
  mutable Participant mine;
  bool isInside = false, hasDeparted = false;
  uint64_t departure = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_EXCHANGE_H
