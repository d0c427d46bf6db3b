//===- Launch.h - A program of a file on its ranks --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPLAUNCH_LAUNCH_H
#define CP_TOOLS_CPLAUNCH_LAUNCH_H

#include "LaunchOptions.h"
#include "cp/Execution/ProgramFile.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// Runs the program on its ranks, or trains with it, and writes what is asked
/// for. All processes of a job call it. Errors, before weights are read: a
/// program that is for another caller, or of other ranks than there are.
llvm::Error launch(ProgramFile file, const LaunchOptions &options);

/// Prints what the programs take and give, and how each tensor is cut.
void describe(const ProgramFile &file, llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_CPLAUNCH_LAUNCH_H
