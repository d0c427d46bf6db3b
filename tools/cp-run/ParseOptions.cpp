//===- ParseOptions.cpp - The command line of cp-run ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParseOptions.h"

#include "StoredCheck.h"

namespace cl = llvm::cl;

namespace cp {
namespace {

cl::OptionCategory category("cp-run options");

void defineHow(Options &o) {
  static Flag<Check> check(
      "check",
      cl::desc("Compare with the undecorated module on reference kernels:"),
      cl::ValueOptional,
      cl::values(clEnumValN(Check::Results, "results", "its results"),
                 clEnumValN(Check::Each, "each",
                            "what every op computes, on every rank; names the "
                            "first op, rank and index that differ"),
                 clEnumValN(Check::Results, "", "")),
      cl::location(o.check), cl::init(Check::None), cl::cat(category));
  static FileFlag reference(
      "reference",
      cl::desc("The module that a sharded one was made from, to check against"),
      cl::location(o.reference), cl::cat(category));
  static Flag<bool> explain(
      "explain",
      cl::desc("Compile, print what travels in each layer and why, and stop: "
               "needs no weights and runs nothing"),
      cl::location(o.explain), cl::cat(category));
  static FileFlag emit(
      "emit",
      cl::desc("Compile to a shared library that needs the runtime alone "
               "(cprt_program.h), and stop"),
      cl::location(o.emit), cl::cat(category));
  static Flag<bool> trace(
      "trace-tokens",
      cl::desc("Move ids of tokens and channels in place of numbers and say "
               "which rank holds what where something else should be: exact, "
               "needs no weights, and takes programs of one rank too"),
      cl::location(o.traceTokens), cl::cat(category));
  defineStoredCheck(o, category);
}

} // namespace

Options parseOptions(int argc, char **argv) {
  // Flags keep pointers into it.
  static Options options;
  options.tool = "cp-run";
  defineModule(options, category);
  defineData(options, category);
  defineLoss(options, category);
  defineHow(options);
  defineFile(options, category);
  defineRunning(options, category);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Run a model on N ranks and report\n");
  options.arguments.assign(argv + 1, argv + argc);
  options.hasLoss = !options.loss.empty();
  noteSharding(options);
  return options;
}

} // namespace cp
