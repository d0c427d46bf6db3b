//===- EnvironmentTest.cpp - What launchers tell a process ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" {
#include "Plugins/Environment.h"
}

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// Variables are gone with it.
class EnvironmentTest : public testing::Test {
protected:
  using Variables = std::vector<std::pair<const char *, const char *>>;

  ~EnvironmentTest() override { clear(); }

  cp_environment read(const Variables &variables) {
    clear();
    for (auto [name, value] : variables) {
      ::setenv(name, value, 1);
      names.push_back(name);
    }
    cp_environment found;
    char message[256] = "";
    bool isWrong = cp_read_environment(&found, message, sizeof message);
    EXPECT_EQ(isWrong ? message : "", wrong);
    return found;
  }

  std::string wrong;

private:
  void clear() {
    for (const char *name : names)
      ::unsetenv(name);
    names.clear();
  }
  std::vector<const char *> names;
};

} // namespace

TEST_F(EnvironmentTest, EachLauncherSaysWhereAProcessIs) {
  const Variables launchers[] = {
      {{"RANK", "5"},
       {"WORLD_SIZE", "8"},
       {"LOCAL_WORLD_SIZE", "4"},
       {"LOCAL_RANK", "2"}},
      {{"OMPI_COMM_WORLD_RANK", "5"},
       {"OMPI_COMM_WORLD_SIZE", "8"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}},
      {{"PMI_RANK", "5"},
       {"PMI_SIZE", "8"},
       {"MPI_LOCALNRANKS", "4"},
       {"MPI_LOCALRANKID", "2"}},
      {{"SLURM_PROCID", "5"},
       {"SLURM_NTASKS", "8"},
       {"SLURM_STEP_NUM_TASKS", "8"},
       {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
       {"SLURM_NODEID", "1"},
       {"SLURM_LOCALID", "2"}},
  };
  for (Variables variables : launchers) {
    SCOPED_TRACE(variables[0].first);
    variables.push_back({"CPRT_ADDRESS", "node1:29511"});
    cp_environment found = read(variables);
    EXPECT_EQ(found.rank, 5);
    EXPECT_EQ(found.size, 8);
    EXPECT_EQ(found.local_size, 4);
    // One more, as in cprt_job.
    EXPECT_EQ(found.local_rank, 3);
    EXPECT_STREQ(found.address, "node1:29511");
  }
}

TEST_F(EnvironmentTest, WhereOnItsMachineAProcessIsNeedNotBeKnown) {
  cp_environment found = read({{"RANK", "1"},
                               {"WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "::1"},
                               {"MASTER_PORT", "29511"}});
  EXPECT_EQ(found.local_size, 0);
  EXPECT_EQ(found.local_rank, 0);
  EXPECT_STREQ(found.address, "[::1]:29512");
}

TEST_F(EnvironmentTest, WhatIsNoPlaceIsToldByItsVariable) {
  wrong = "LOCAL_RANK is 'two', expected a number from 0 to 2147483647";
  read({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "two"}});
  wrong = "WORLD_SIZE is '99999999999', expected a number from 0 to 2147483647";
  read({{"RANK", "5"}, {"WORLD_SIZE", "99999999999"}});
  wrong = "LOCAL_RANK is 2, expected less than LOCAL_WORLD_SIZE, 2";
  read({{"RANK", "5"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"LOCAL_RANK", "2"}});
  wrong = "LOCAL_RANK is 8, expected less than WORLD_SIZE, 8";
  read({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "8"}});
  wrong = "LOCAL_WORLD_SIZE is 9, expected at most WORLD_SIZE, 8";
  read({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "9"}});
}
