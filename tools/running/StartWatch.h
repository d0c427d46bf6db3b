//===- StartWatch.h - Who waits for a job to start ---------------*- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_STARTWATCH_H
#define CP_TOOLS_RUNNING_STARTWATCH_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cp {

/// MPI_Init waits for every process of its launcher, for ever, and nothing can
/// call it back. As long as this lives no such wait outlasts `deadlineMs` (0:
/// that of a collective): the process then says so, and ends.
class StartWatch {
public:
  StartWatch(std::string tool, int64_t deadlineMs);
  ~StartWatch();

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool hasStarted = false;
  std::thread thread;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_STARTWATCH_H
