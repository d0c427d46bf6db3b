//===- Mailbox.h - A transport within one process ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_MAILBOX_H
#define CP_UNITTESTS_RUNTIME_MAILBOX_H

#include "cp/Runtime/cprt_transport.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cp::test {

/// Messages between ranks that are threads here but share nothing else. As
/// strict as a transport may be: a message is sent only once it is received,
/// and is found out about after some more questions, drawn from `seed`.
class Mailbox {
public:
  /// A message travels for `latency`. Like a large one of an engine that moves
  /// nothing by itself, it sets out when its rank's transport is asked for it,
  /// or to carry on, once it is posted at both ends.
  Mailbox(int64_t size, uint64_t seed, std::chrono::microseconds latency = {});
  /// That of one rank; shares what is in the mailbox.
  cprt_transport transportOf(int64_t rank) const;
  /// Messages that somebody waits for still.
  size_t numPending() const;
  int64_t numRanks() const { return size; }
  /// How many blocks of `bytes` a rank received, of which a message has one or
  /// several, and those of them that set out only when it asked for them.
  size_t blocksReceived(int64_t rank, int64_t bytes) const;
  size_t blocksAskedFor(int64_t rank, int64_t bytes) const;

  /// What a rank did, in its order: it posted messages together, which get
  /// numbers, or found one of them done.
  struct Event {
    std::vector<cprt_message> posted;
    /// Of the first one posted, or of the one that is done.
    size_t number;
  };
  std::vector<Event> eventsOf(int64_t rank) const;

  struct State;

private:
  std::shared_ptr<State> state;
  int64_t size;
};

/// A world for each rank of a mailbox. On failure some are null.
std::vector<cprt_world *> makeMessageWorlds(const cprt_options &options,
                                            const Mailbox &mailbox);

/// Makes one rank's world of a job; `job` needs no address.
cprt_status joinByMailbox(const Mailbox &mailbox, const cprt_options &options,
                          cprt_job job, cprt_world **world,
                          std::string &message);

/// An address for rank 0 that nobody else uses.
std::string freshAddress();

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_MAILBOX_H
