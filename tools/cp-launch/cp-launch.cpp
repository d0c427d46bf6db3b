//===- cp-launch.cpp - Run a compiled program on its ranks ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Process.h"

static llvm::Error run(cp::LaunchOptions &options, const char *tool) {
  llvm::Error wrong = cp::checkLaunchOptions(options);
  if (options.describes) {
    if (wrong)
      return wrong;
    llvm::Expected<cp::ProgramFile> file =
        cp::ProgramFile::load(options.run.model);
    if (!file)
      return file.takeError();
    cp::describe(*file, llvm::outs());
    return llvm::Error::success();
  }
  // What is wrong on one rank the others are told, which wait for it.
  if (llvm::Error error = cp::joinJob(options.run, tool))
    return wrong ? llvm::joinErrors(std::move(wrong), std::move(error))
                 : std::move(error);
  if (wrong)
    return wrong;
  if (llvm::Error error = cp::openDevice(options.run, tool))
    return error;
  llvm::Expected<cp::ProgramFile> file =
      cp::ProgramFile::load(options.run.model);
  if (!file)
    return file.takeError();
  return cp::launch(std::move(*file), options);
}

int main(int argc, char **argv) {
  cp::beginProcess("cp-launch");
  cp::LaunchOptions options = cp::parseLaunchOptions(argc, argv);
  if (llvm::Error error = run(options, argv[0]))
    return cp::fail(options.run, std::move(error));
  return cp::exitStatus("cp-launch", 0);
}
