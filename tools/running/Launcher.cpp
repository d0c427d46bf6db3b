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

std::string transportOfLauncher() {
  auto isSet = [](const char *name) {
    const char *value = std::getenv(name);
    return value && *value;
  };
  // One without the other is told by the transport.
  if (isSet("OMPI_COMM_WORLD_SIZE") || isSet("OMPI_COMM_WORLD_RANK"))
    return "openmpi";
  if (isSet("PMI_SIZE") || isSet("PMI_RANK"))
    return "mpich";
  bool isTorch = isSet("RANK") || isSet("WORLD_SIZE");
  return isTorch || isSet("SLURM_STEP_NUM_TASKS") ? "ucx" : "threads";
}

/// Whether a launcher has started other processes beside this one.
static bool isOneOfSeveral() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE",
                           "SLURM_STEP_NUM_TASKS"}) {
    const char *value = std::getenv(name);
    if (value && *value && llvm::StringRef(value) != "1")
      return true;
  }
  return false;
}

void warnOfLauncher(const RunFlags &flags, llvm::StringRef advice) {
  if (isOneOfSeveral())
    llvm::errs()
        << flags.tool
        << ": warning: each process that the launcher has started runs "
           "all ranks, and writes the same files; "
        << advice << " for one rank a process\n";
}

} // namespace cp
