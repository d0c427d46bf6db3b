//===- Process.h - How tools begin and end ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_PROCESS_H
#define CP_TOOLS_RUNNING_PROCESS_H

namespace cp {

/// To be called first, with the tool's name, which lives as long as the
/// process. Tensors of an absurd size are an error like any other from here on;
/// and where standard output or error is closed, as of a service, no file that
/// the tool opens gets their place, and with it what is printed.
void beginProcess(const char *tool);

/// The exit status of a tool: 1, with an error, where what it printed did not
/// get out, which would end the process in LLVM's own way.
int exitStatus(const char *tool, int status);

} // namespace cp

#endif // CP_TOOLS_RUNNING_PROCESS_H
