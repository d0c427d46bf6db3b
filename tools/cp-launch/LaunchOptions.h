//===- LaunchOptions.h - The command line of cp-launch ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPLAUNCH_LAUNCHOPTIONS_H
#define CP_TOOLS_CPLAUNCH_LAUNCHOPTIONS_H

#include "TrainFlags.h"

namespace cp {

struct LaunchOptions {
  RunFlags run;
  TrainFlags train;
  /// Nothing: those of the program.
  std::optional<int64_t> ranks;
  /// Run steps of an optimizer.
  bool trains = false;
  /// Say what the file holds, and run nothing.
  bool describes = false;
};

/// Reads the command line; ends the process on --help or a flag that it does
/// not know.
LaunchOptions parseLaunchOptions(int argc, char **argv);

/// Refuses options that no run can use, or that go together in none.
llvm::Error checkLaunchOptions(const LaunchOptions &options);

} // namespace cp

#endif // CP_TOOLS_CPLAUNCH_LAUNCHOPTIONS_H
