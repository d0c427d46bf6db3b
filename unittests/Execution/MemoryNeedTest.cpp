//===- MemoryNeedTest.cpp - What a run takes, and what there is -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Execution/Memory.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

using namespace cp;
using testing::HasSubstr;

namespace {

const Mesh mesh{{{"cp", 4}}};

TensorSpec specOf(std::vector<int64_t> shape, bool isCut, bool isParam) {
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.isParam = isParam;
  spec.layout.mesh = mesh;
  spec.layout.dims.resize(spec.shape.size());
  if (isCut)
    spec.layout.dims[0] = {Cut{0, Order::Contiguous, 1}};
  return spec;
}

TEST(MemoryNeedTest, WholeArgumentsAreSharedAndPartsAreNot) {
  MemoryNeed need = memoryNeed(
      {specOf({8, 2}, false, true), specOf({8, 3}, true, true),
       specOf({8}, true, false)},
      {specOf({8, 5}, true, false), specOf({8}, false, false)}, 1000, 4);
  EXPECT_EQ(need.rank.program, 1000);
  EXPECT_EQ(need.rank.weights, 4 * (8 * 2 + 2 * 3));
  EXPECT_EQ(need.rank.inputs, 4 * 2);
  EXPECT_EQ(need.rank.outputs, 4 * (2 * 5 + 8));
  EXPECT_EQ(need.process.program, 4000);
  EXPECT_EQ(need.process.weights, 4 * (8 * 2 + 2 * 8 * 3));
  EXPECT_EQ(need.process.inputs, 4 * 2 * 8);
  // A whole result is written by each of the four.
  EXPECT_EQ(need.process.outputs, 4 * (2 * 8 * 5 + 8 + 4 * 8));
  EXPECT_EQ(need.rank.total(), 1000 + 88 + 8 + 72);
}

TEST(MemoryNeedTest, WhatIsUpdatedIsARanksOwn) {
  TensorSpec weight = specOf({8, 2}, false, true),
             moment = specOf({8, 2}, false, false),
             rate = specOf({}, false, false);
  weight.name = "w";
  moment.name = "exp_avg.w";
  moment.isState = true;
  TensorSpec updated = weight, kept = moment;
  updated.updates = "w";
  kept.updates = "exp_avg.w";
  MemoryNeed need =
      memoryNeed({weight, moment, rate}, {rate, updated, kept}, 1000, 4);
  EXPECT_EQ(need.rank.weights, 64);
  EXPECT_EQ(need.rank.state, 64);
  EXPECT_EQ(need.rank.outputs, 4);
  EXPECT_EQ(need.process.weights, 5 * 64);
  EXPECT_EQ(need.process.state, 5 * 64);
  EXPECT_EQ(need.process.inputs, 4);
  EXPECT_EQ(need.rank.total(), 1000 + 64 + 64 + 4 + 4);
}

TEST(MemoryNeedTest, SumsSaturate) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  TensorSpec large = specOf({int64_t(1) << 60}, false, true);
  MemoryNeed need = memoryNeed({large, large, large}, {large}, most, 4);
  EXPECT_EQ(need.process.weights, most);
  EXPECT_EQ(need.process.program, most);
  EXPECT_EQ(need.process.total(), most);
  EXPECT_EQ((need.process + need.process).total(), most);
}

TEST(MemoryNeedTest, WhatDoesNotFitIsRefusedWithWhatTakesIt) {
  MemoryUse use{1, 3 << 20, 0, 4, int64_t(5) << 30, 0};
  EXPECT_FALSE(llvm::errorToBool(checkFits(use, use.total())));
  EXPECT_THAT(llvm::toString(checkFits(use, use.total() - 1)),
              HasSubstr("the run needs 5.0 GiB (program 1 bytes, weights 3.0 "
                        "MiB, inputs 4 bytes, outputs 5.0 GiB), but 5.0 GiB "
                        "are available"));
}

/// A folder with files of /proc and /sys.
class AvailableTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("cp-memory", root));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  void put(llvm::StringRef file, llvm::StringRef text) {
    std::string path = (root + file).str();
    ASSERT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)));
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << text;
    ASSERT_FALSE(code);
  }
  std::optional<int64_t> available() const {
    return availableMemory(root.str().str());
  }

  llvm::SmallString<128> root;
};

TEST_F(AvailableTest, NothingIsKnownWithoutFiles) {
  EXPECT_EQ(available(), std::nullopt);
  put("/proc/meminfo", "MemTotal: 100 kB\nnonsense\nMemAvailable:\n");
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(AvailableTest, TheMachineSaysWhatIsAvailable) {
  put("/proc/meminfo",
      "MemTotal:       16000 kB\nMemAvailable:   8000 kB\nBuffers: 1 kB\n");
  EXPECT_EQ(available(), 8000 * 1024);
}

TEST_F(AvailableTest, AControlGroupMayLeaveLess) {
  put("/proc/meminfo", "MemAvailable:   8000 kB\n");
  put("/proc/self/cgroup", "4:memory:/old\n0::/a/b\n");
  put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  put("/sys/fs/cgroup/a/b/memory.current", "1000\n");
  EXPECT_EQ(available(), 8000 * 1024);
  put("/sys/fs/cgroup/a/b/memory.max", "5000\n");
  EXPECT_EQ(available(), 4000);
  // Pages of files can be given back.
  put("/sys/fs/cgroup/a/b/memory.stat", "anon 300\ninactive_file 600\n");
  EXPECT_EQ(available(), 4600);
  put("/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "3000\n");
  put("/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "4000\n");
  EXPECT_EQ(available(), 0);
}

TEST(MemoryTest, ThisMachineIsKnown) {
  // Where there is no /proc, nothing is.
  if (llvm::sys::fs::exists("/proc/meminfo")) {
    EXPECT_GT(availableMemory().value_or(0), 0);
  }
  EXPECT_GT(peakResidentBytes(), 1 << 20);
}

} // namespace
