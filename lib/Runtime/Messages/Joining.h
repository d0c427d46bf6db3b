//===- Joining.h - How a job's processes come together ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_JOINING_H
#define CP_LIB_RUNTIME_MESSAGES_JOINING_H

#include "Control.h"

namespace cp::runtime {

/// Ranks say hello to rank 0, which compares what they bring with its own, and
/// welcomes all of them once they are there. Who has another token is turned
/// away, and the others wait on.
class Joining {
public:
  /// Fills in the addresses.
  Joining(const Job &job, Clock::time_point deadline,
          std::vector<std::string> &addresses)
      : job(job), deadline(deadline), addresses(addresses) {
    addresses.assign(size_t(job.size), "");
    addresses[size_t(job.rank)] = job.own;
  }

  /// Of rank 0: a connection for each rank, its own not open.
  Error gather(std::vector<Connection> &connections);
  /// Of the others: the one to rank 0.
  Error enter(std::vector<Connection> &connections);
  /// In place of both: tells those who come that this rank does not.
  Error decline(const std::string &why);

private:
  Error seat(Connection &guest, const Letter &hello,
             std::vector<Connection> &connections);
  Error attend(const File &listener, std::vector<Connection> &guests,
               std::vector<Connection> &connections);
  void dismiss(std::vector<Connection> &guests,
               std::vector<Connection> &connections, const Failure &failure);
  size_t dismissLate(const File &listener, size_t told, const Failure &failure,
                     Clock::time_point last) const;
  void welcome(std::vector<Connection> &connections) const;
  std::string hello() const;
  std::string reasons() const;

  const Job &job;
  Clock::time_point deadline;
  /// By rank.
  std::vector<std::string> &addresses;
  /// How many came with another token.
  int64_t numTurnedAway = 0;
};

/// A failure as a letter's text, and back.
std::string toText(const Failure &failure);
Failure failureOf(const Letter &letter);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_JOINING_H
