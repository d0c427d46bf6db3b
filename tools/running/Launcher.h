//===- Launcher.h - Who has started this process ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_LAUNCHER_H
#define CP_TOOLS_RUNNING_LAUNCHER_H

#include "RunFlags.h"

namespace cp {

/// The transport of the launcher that has started this process, by what it has
/// put into the environment: "openmpi", "mpich", or "ucx" for RANK and
/// WORLD_SIZE as torchrun sets them, and for a step of Slurm, if that has
/// started several; "threads" otherwise.
std::string transportOfLauncher();
/// Says that each process of a launcher runs all ranks, where that is so and
/// nobody has asked for it; `advice` is what to do about it.
void warnOfLauncher(const RunFlags &flags, llvm::StringRef advice);
/// An error where a launcher has started several processes, and the transport
/// of this one knows of none but itself: each would run by itself and write the
/// same files. That is so under another MPI's mpirun.
llvm::Error checkLauncher(const RunFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_LAUNCHER_H
