//===- World.h - A set of ranks that share a process ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_WORLD_H
#define CP_LIB_RUNTIME_WORLD_H

#include "Context.h"
#include "Meeting.h"

#include "cp/Layout/Mesh.h"

#include <chrono>
#include <memory>
#include <mutex>

struct cprt_world {
  /// The meeting point of these ranks (ascending), made on first use. Takes the
  /// mutex.
  cp::runtime::Meeting &meetingOf(const std::vector<int64_t> &ranks);

  /// Ends every present and coming wait with `failure`; an earlier one stays.
  /// To be called with the mutex held.
  void spread(cp::runtime::Failure failure);

  cp::Mesh mesh;
  std::chrono::milliseconds deadline{60'000};
  cp::kernels::KernelSet kernelSet = cp::kernels::KernelSet::Fast;
  /// Of each rank's kernels.
  int64_t threads = 1;
  /// More threads than processors: spinning would only keep peers from running.
  bool oversubscribed = false;

  std::vector<std::unique_ptr<cprt_context>> contexts;

  /// Guards all that ranks do with each other beside meeting in time and
  /// copying bytes.
  std::mutex mutex;
  /// By rank, for a search through who waits for whom.
  std::vector<bool> seen;
  std::atomic<bool> hasFailure{false};
  /// Written once, before `hasFailure`.
  cp::runtime::Failure failure{CPRT_OK, ""};
  std::map<std::vector<int64_t>, std::unique_ptr<cp::runtime::Meeting>>
      meetings;
};

#endif // CP_LIB_RUNTIME_WORLD_H
