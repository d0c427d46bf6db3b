//===- StartWatch.cpp - Who waits for a job to start ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartWatch.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace cp;

/// Of a collective, where none is given.
static constexpr int64_t defaultDeadlineMs = 60'000;

StartWatch::StartWatch(std::string tool, int64_t deadlineMs)
    : thread([this, tool = std::move(tool),
              most = deadlineMs > 0 ? deadlineMs : defaultDeadlineMs] {
        std::unique_lock<std::mutex> lock(mutex);
        if (changed.wait_for(lock, std::chrono::milliseconds(most),
                             [this] { return hasStarted; }))
          return;
        std::fprintf(stderr,
                     "%s: error: CPRT_TIMEOUT: the job has not started within "
                     "%lld ms: its launcher waits for a process that has not "
                     "come; look whether all of them run this program\n",
                     tool.c_str(), static_cast<long long>(most));
        std::_Exit(1);
      }) {}

StartWatch::~StartWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasStarted = true;
  }
  changed.notify_all();
  thread.join();
}
