//===- ThreadWorld.h - Ranks that share a process ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_THREADS_THREADWORLD_H
#define CP_LIB_RUNTIME_THREADS_THREADWORLD_H

#include "Core/World.h"
#include "Meeting.h"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace cp::runtime {

class ThreadWorld : public cprt_world {
public:
  std::unique_ptr<Channel> openChannel(cprt_context &context,
                                       const std::vector<int64_t> &ranks,
                                       int64_t position) override;
  void spread(Failure failure) override;

  /// More threads than processors: spinning would only keep peers from running.
  bool oversubscribed = false;
  /// Whether all ranks' queues read each other's memory.
  bool sharesDevice = false;
  bool movesOnDevice() const override { return sharesDevice; }

  /// Where a rank waits, and with which call; null when it does not.
  struct Waiting {
    const Meeting *in = nullptr;
    const Descriptor *call = nullptr;
  };
  /// By rank; guarded by the mutex.
  std::vector<Waiting> waiting;
  /// By rank, for a search through who waits for whom; so is this.
  std::vector<bool> seen;

  std::atomic<bool> hasFailure{false};
  /// Written once, before `hasFailure`.
  Failure failure{CPRT_OK, ""};

private:
  /// Where these ranks (ascending) meet, made on first use. Takes the mutex.
  Meeting &meetingOf(const std::vector<int64_t> &ranks);

  std::map<std::vector<int64_t>, std::unique_ptr<Meeting>> meetings;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_THREADS_THREADWORLD_H
