//===- TrainOptions.cpp - The command line of cp-train ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainOptions.h"

namespace cl = llvm::cl;

namespace cp {
namespace {

cl::OptionCategory category("cp-train options");

void defineModel(Options &o) {
  static cl::opt<std::string, true> model(
      cl::Positional,
      cl::desc("<model.mlir, of whole tensors, or config.json>"),
      cl::location(o.model), cl::init("-"), cl::cat(category));
  defineSharding(o, category);
  defineWeights(o, category);
  defineWorld(o, category);
  static Flag<bool> explain(
      "explain",
      cl::desc("Print what travels in a step, layer by layer, and "
               "what takes the memory, and stop"),
      cl::location(o.explain), cl::cat(category));
}

} // namespace

TrainOptions parseTrainOptions(int argc, char **argv) {
  // Flags write into it, and are never taken away.
  static TrainOptions options;
  defineModel(options.run);
  defineSizes(options.sizes, category);
  defineOptimizer(options.optimizer, category);
  defineOverlap(options.overlap, category);
  defineTraining(options, category);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Train a model on N ranks\n");
  options.run.tool = "cp-train";
  options.run.loss = "next_token";
  options.run.hasLoss = true;
  options.run.withGradients = true;
  noteSharding(options.run);
  options.optimizer.update.accumulate = options.accumulate > 1;
  return options;
}

llvm::Error checkTrainOptions(const TrainOptions &options) {
  if (llvm::Error error = checkOptimizer(options.optimizer))
    return error;
  if (options.run.explain)
    return refuseGiven("--explain trains nothing",
                       {"save-weights", "csv", "checkpoint", "checkpoint-every",
                        "resume", "timeline"});
  return checkTrainFlags(options.run, options);
}

} // namespace cp
