//===- ThreadLimitTest.cpp - Where the system has no more threads ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "cp/Trace/TraceTokens.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Leaves this process memory for the stacks of about `stacks` more threads.
void leaveRoomFor(rlim_t stacks) {
  pthread_attr_t attributes;
  size_t stackBytes = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &stackBytes);
  rlim_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages))
    std::exit(100);
  rlim_t bytes = pages * rlim_t(sysconf(_SC_PAGESIZE)) + stacks * stackBytes +
                 stackBytes / 2;
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

/// A sum over 64 ranks.
OwningOpRef<ModuleOp> sumOverRanks() {
  return parse("#mesh = #cp.mesh<\"cp\" = 64>\n"
               "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32>\n"
               "    attributes {cp.view = \"local\"} {\n"
               "  %y = cp.all_reduce %x over [\"cp\"] of #mesh "
               ": tensor<2xf32>\n"
               "  return %y : tensor<2xf32>\n}");
}

/// Prints the error and ends the process: with 0 where there is none.
[[noreturn]] void exitWith(llvm::Error error) {
  bool failed = bool(error);
  llvm::errs() << llvm::toString(std::move(error)) << "\n";
  std::exit(failed ? 1 : 0);
}

[[noreturn]] void runWithRoomFor(rlim_t stacks) {
  OwningOpRef<ModuleOp> module = sumOverRanks();
  std::unique_ptr<Program> program =
      module ? test::compile(*module, {}) : nullptr;
  if (!program)
    std::exit(100);
  std::vector<HostTensor> inputs = {floats({2}, {1, 2})};
  leaveRoomFor(stacks);
  exitWith(program->run(pointersTo(inputs), {}).takeError());
}

[[noreturn]] void traceWithRoomFor(rlim_t stacks) {
  OwningOpRef<ModuleOp> module = sumOverRanks();
  // Its pool of threads ends the process where it cannot be made.
  context().disableMultithreading();
  leaveRoomFor(stacks);
  exitWith(traceTokens(*module, {}).takeError());
}

class ThreadLimitTest : public testing::Test {
protected:
  void SetUp() override {
    if (CP_SANITIZED)
      GTEST_SKIP() << "a sanitizer's own memory has no such limit";
    // A process of its own, which keeps no stacks of threads that have ended.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  const std::string refusal = "expected a thread for each of 64 ranks, but "
                              "after [0-9]+ the system says: .*; use fewer "
                              "ranks or raise the limits";
};

TEST_F(ThreadLimitTest, ARunIsRefused) {
  EXPECT_EXIT(runWithRoomFor(4), testing::ExitedWithCode(1), refusal);
  EXPECT_EXIT(runWithRoomFor(4096), testing::ExitedWithCode(0), "");
}

TEST_F(ThreadLimitTest, ATraceIsRefused) {
  EXPECT_EXIT(traceWithRoomFor(4), testing::ExitedWithCode(1), refusal);
  EXPECT_EXIT(traceWithRoomFor(4096), testing::ExitedWithCode(0), "");
}

} // namespace
