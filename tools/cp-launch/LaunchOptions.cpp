//===- LaunchOptions.cpp - The command line of cp-launch --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchOptions.h"

#include "Launcher.h"
#include "StoredCheck.h"

namespace cl = llvm::cl;

namespace cp {

static cl::OptionCategory category("cp-launch options");

static void defineProgram(LaunchOptions &o) {
  static cl::opt<std::string, true> program(
      cl::Positional, cl::Required,
      cl::desc("<program.so, as cp-compile writes it>"),
      cl::location(o.run.model), cl::cat(category));
  static OwnFlag<int64_t> ranks(
      "ranks", cl::desc("Number of ranks, which must be the program's"),
      cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.ranks = value; }));
  static Flag<bool> describe(
      "describe",
      cl::desc("Print what the program takes and gives, and how it is cut, and "
               "stop"),
      cl::location(o.describes), cl::cat(category));
  static Flag<bool> train(
      "train",
      cl::desc("Make steps of the optimizer that it was compiled with"),
      cl::location(o.trains), cl::cat(category));
}

LaunchOptions parseLaunchOptions(int argc, char **argv) {
  // Flags keep pointers into it.
  static LaunchOptions options;
  options.run.tool = "cp-launch";
  options.run.transport = "auto";
  defineProgram(options);
  defineData(options.run, category);
  defineRunning(options.run, category);
  defineStoredCheck(options.run, category);
  defineTraining(options.train, category);
  cl::getRegisteredOptions()["transport"]->setDescription(
      "What carries what ranks exchange: threads, where they are those of this "
      "process, or e.g. openmpi, ucx, where each process of a job is one "
      "(default: that of the launcher, threads without one)");
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Run a compiled program on its ranks\n");
  options.run.arguments.assign(argv + 1, argv + argc);
  if (options.run.transport == "auto")
    options.run.transport = transportOfLauncher();
  else if (options.run.transport == "threads")
    warnOfLauncher(options.run, "leave --transport=threads out");
  if (options.run.transport == "threads")
    options.run.transport.clear();
  return options;
}

llvm::Error checkLaunchOptions(const LaunchOptions &options) {
  if (options.describes)
    return refuseGiven("--describe runs nothing",
                       {"outputs", "report", "save-weights", "timeline", "csv",
                        "checkpoint", "check-against", "tolerance", "repeat",
                        "inputs", "rows", "labels", "weights", "device"});
  if (options.trains) {
    if (auto flag = firstGiven({"inputs", "rows", "labels", "outputs", "report",
                                "repeat", "check-against", "tolerance"}))
      return llvm::createStringError(
          "--" + *flag +
          " is not for training, which takes --data and gives "
          "--csv, --checkpoint and --save-weights; leave it "
          "out");
    return checkTrainFlags(options.run, options.train);
  }
  if (auto flag = firstGiven({"data", "steps", "accumulate", "lr", "warmup",
                              "clip", "shuffle", "document-end", "csv",
                              "checkpoint", "checkpoint-every", "resume"}))
    return llvm::createStringError("--" + *flag +
                                   " is for training; give --train too");
  if (llvm::Error error = checkRunFlags(options.run))
    return error;
  if (llvm::Error error = checkGraphs(options.run))
    return error;
  if (options.run.checkAgainst.empty() && firstGiven({"tolerance"}))
    return llvm::createStringError(
        "--tolerance says what a check allows; give --check-against too");
  return llvm::Error::success();
}

} // namespace cp
