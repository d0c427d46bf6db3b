//===- RankThreads.h - Threads that run step after step ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_RANKTHREADS_H
#define CP_LIB_EXECUTION_RANKTHREADS_H

#include "llvm/Support/Error.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cp {

/// One thread a rank, the same in every step: what kernels and collectives keep
/// for their thread lasts from step to step.
class RankThreads {
public:
  /// `work(rank)` is what a rank does in a step; it must not throw. An error
  /// where the system has no thread for each rank: none is left then.
  static llvm::Expected<std::unique_ptr<RankThreads>>
  create(int64_t ranks, std::function<void(int64_t rank)> work);
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;
  ~RankThreads();

  /// Every rank does its work once; returns when all are done.
  void step();

private:
  explicit RankThreads(std::function<void(int64_t rank)> work)
      : work(std::move(work)) {}
  /// What the system says against a thread for the next rank; empty for none.
  std::string add();
  void loop(int64_t rank);
  /// Tells the threads to do another step, or to end.
  void start(bool isLast);

  std::function<void(int64_t rank)> work;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by the mutex: steps begun, ranks at work in the current one.
  int64_t steps = 0, busy = 0;
  bool isOver = false;
  std::vector<std::thread> threads;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_RANKTHREADS_H
