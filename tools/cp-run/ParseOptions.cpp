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
      cl::desc("Compare with the module without layouts on one rank, by "
               "reference kernels:"),
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

/// Flags of a run, where there is none.
llvm::Error refuseRunning(llvm::StringRef instead,
                          llvm::ArrayRef<llvm::StringRef> flags,
                          const Options &options) {
  if (llvm::Error error = refuseGiven(instead, flags))
    return error;
  if (options.gradients.empty())
    return llvm::Error::success();
  return llvm::createStringError(instead +
                                 ", so it takes no --gradients=FILE; give that "
                                 "to a run without it");
}

} // namespace

llvm::Error checkTogether(const Options &options) {
  bool emits = !options.emit.empty();
  if (int(options.explain) + int(emits) + int(options.traceTokens) > 1)
    return llvm::createStringError(
        "--explain, --emit and --trace-tokens are runs of their own; give one "
        "at a time");
  if (!emits && firstGiven({"target-cpu"}))
    return llvm::createStringError(
        "--target-cpu is for a file, and a run is for this machine; give "
        "--emit too, or leave it out");
  if (options.explain)
    return refuseRunning("--explain runs nothing",
                         {"check", "check-against", "tolerance", "outputs",
                          "save-weights", "report", "timeline", "repeat"},
                         options);
  if (options.traceTokens)
    return refuseRunning("--trace-tokens moves ids of its own and computes no "
                         "numbers",
                         {"check", "check-against", "tolerance", "outputs",
                          "save-weights", "timeline", "repeat", "inputs",
                          "rows", "labels"},
                         options);
  if (emits && firstGiven({"device"}))
    return llvm::createStringError("--emit makes code for processors alone; "
                                   "cp-compile --device=cuda makes "
                                   "code for cards too");
  if (emits)
    return refuseRunning("--emit runs nothing",
                         {"check", "check-against", "tolerance", "outputs",
                          "save-weights", "report", "timeline", "repeat",
                          "weights", "inputs", "rows", "labels"},
                         options);
  if (options.check == Check::Each && options.repeats > 1)
    return llvm::createStringError(
        "--check=each runs the model once; leave --repeat out");
  if (llvm::Error error = checkGraphs(options))
    return error;
  bool checks = options.check != Check::None || !options.checkAgainst.empty();
  if (!checks && firstGiven({"tolerance"}))
    return llvm::createStringError("--tolerance says what a check allows; give "
                                   "--check or --check-against too");
  return llvm::Error::success();
}

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
