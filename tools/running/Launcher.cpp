//===- Launcher.cpp - Who has started this process --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace cp {

static llvm::StringRef variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string transportOfLauncher() {
  auto isSet = [](const char *name) { return !variable(name).empty(); };
  // One without the other is told by the transport.
  if (isSet("OMPI_COMM_WORLD_SIZE") || isSet("OMPI_COMM_WORLD_RANK"))
    return "openmpi";
  if (isSet("PMI_SIZE") || isSet("PMI_RANK"))
    return "mpich";
  // One process by itself has all ranks, as a shell in an allocation of Slurm.
  auto isAlone = [](const char *count) { return variable(count) == "1"; };
  if (isSet("RANK") || isSet("WORLD_SIZE"))
    return isAlone("WORLD_SIZE") ? "threads" : "ucx";
  bool isStep = isSet("SLURM_STEP_NUM_TASKS");
  return isStep && !isAlone("SLURM_STEP_NUM_TASKS") ? "ucx" : "threads";
}

/// How many processes a launcher has started, where these are several, as it
/// says; empty otherwise.
static llvm::StringRef processesOfLauncher() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE",
                           "SLURM_STEP_NUM_TASKS"})
    if (llvm::StringRef count = variable(name); !count.empty() && count != "1")
      return count;
  return "";
}

/// Whether an MPI's own launcher has started this process: what others around
/// it say, as a pod or a shell in a step of Slurm, is not about this job. What
/// is no MPI goes by what they say.
static bool isOfOwnLauncher(llvm::StringRef transport) {
  if (transport == "openmpi")
    return !variable("OMPI_COMM_WORLD_SIZE").empty();
  if (transport == "mpich")
    return !variable("PMI_SIZE").empty();
  return true;
}

void warnOfLauncher(const RunFlags &flags, llvm::StringRef advice) {
  if (!processesOfLauncher().empty())
    llvm::errs()
        << flags.tool
        << ": warning: each process that the launcher has started runs "
           "all ranks, and writes the same files; "
        << advice << " for one rank a process\n";
}

llvm::Error checkLauncher(const RunFlags &flags) {
  llvm::StringRef started = processesOfLauncher();
  if (!flags.job || flags.job->size() > 1 || started.empty() ||
      isOfOwnLauncher(flags.transport))
    return llvm::Error::success();
  return llvm::createStringError(
      "--transport=" + flags.transport +
      " finds this process alone, but its launcher says that it has started " +
      started + "; give --transport=" + transportOfLauncher() +
      ", or start it by the launcher of " + flags.transport);
}

} // namespace cp
