//===- SlurmTest.cpp - What srun tells a process --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" {
#include "Plugins/Slurm.h"
}

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>

namespace {

class SlurmTest : public testing::Test {
protected:
  SlurmTest() { clear(); }
  ~SlurmTest() override { clear(); }

  static void set(const char *name, const std::string &value) {
    ::setenv(name, value.c_str(), 1);
  }
  static int64_t localSize(const std::string &tasks, const char *node) {
    set("SLURM_STEP_TASKS_PER_NODE", tasks);
    set("SLURM_NODEID", node);
    return cp_slurm_local_size();
  }
  /// "" where there is none.
  static std::string address(const std::string &nodes, const char *number,
                             size_t capacity = 320) {
    set("SLURM_STEP_NODELIST", nodes);
    set("SLURM_STEP_NUM_NODES", number);
    std::string text(capacity, ' ');
    return cp_slurm_address(text.data(), capacity) ? text.c_str() : "";
  }

private:
  static void clear() {
    for (const char *name :
         {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_STEP_NODELIST",
          "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID",
          "SLURM_STEP_ID"})
      ::unsetenv(name);
  }
};

} // namespace

TEST_F(SlurmTest, TasksOfAStep) {
  EXPECT_FALSE(cp_slurm_is_step(1));
  set("SLURM_STEP_NUM_TASKS", "8");
  EXPECT_TRUE(cp_slurm_is_step(8));
  EXPECT_FALSE(cp_slurm_is_step(1));
}

TEST_F(SlurmTest, TasksOfANode) {
  EXPECT_EQ(cp_slurm_local_size(), 0);
  EXPECT_EQ(localSize("8", "0"), 8);
  EXPECT_EQ(localSize("3,1", "1"), 1);
  EXPECT_EQ(localSize("4(x2),3", "0"), 4);
  EXPECT_EQ(localSize("4(x2),3", "1"), 4);
  EXPECT_EQ(localSize("4(x2),3", "2"), 3);
  EXPECT_EQ(localSize("4(x2),3", "3"), 0);
  EXPECT_EQ(localSize("4(x2", "1"), 4);
  EXPECT_EQ(localSize("-3", "0"), 0);
  for (const char *broken : {"", "x", "(x2)", "4(x", ",", "4,", "-3"})
    EXPECT_EQ(localSize(broken, "1"), 0) << broken;
}

TEST_F(SlurmTest, FirstNode) {
  set("SLURM_JOB_ID", "1234");
  set("SLURM_STEP_ID", "5");
  const std::string port = ":28259";
  EXPECT_EQ(address("node7", "2"), "node7" + port);
  EXPECT_EQ(address("node7,node9", "2"), "node7" + port);
  EXPECT_EQ(address("node[07-09,11],login", "5"), "node07" + port);
  EXPECT_EQ(address("rack[2-3]node[7,9]-ib,x", "5"), "rack2node7-ib" + port);
  EXPECT_EQ(address("node[3", "2"), "node3" + port);
  EXPECT_EQ(address("node7", "1"), "127.0.0.1" + port);
  set("SLURM_STEP_ID", "6");
  EXPECT_EQ(address("node7", "2"), "node7:28260");
}

TEST_F(SlurmTest, NoNode) {
  char text[320];
  EXPECT_FALSE(cp_slurm_address(text, sizeof text));
  EXPECT_EQ(address("", "2"), "");
  EXPECT_EQ(address("node7", ""), "");
  EXPECT_EQ(address("node7", "2", /*capacity=*/8), "");
  EXPECT_EQ(address(std::string(300, 'n'), "2"), "");
  EXPECT_EQ(address("n[" + std::string(300, '1') + "]", "2"), "");
}
