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
  static cl::opt<int64_t> ranks(
      "ranks", cl::desc("Number of ranks"), cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.ranks = value; }));
  static Flag<std::string> mesh("mesh", cl::desc("Axes, e.g. dp=2,cp=4"),
                                cl::location(o.mesh), cl::cat(category));
  static Flag<std::string> strategy(
      "strategy", cl::desc("hidden, sequence or 2d (default: sequence)"),
      cl::location(o.sharding.mixer), cl::cat(category));
  static Flag<std::string> attention(
      "attention", cl::desc("ulysses, ring, gather or 2d"),
      cl::location(o.sharding.attention), cl::init("ring"), cl::cat(category));
  static Flag<std::string> order(
      "order",
      cl::desc("Token order: contiguous, zigzag, striped, "
               "zigzag_per_document or contiguous_per_document"),
      cl::location(o.sharding.order), cl::init("contiguous"),
      cl::cat(category));
  static Flag<std::string> batch(
      "batch", cl::desc("Axes that cut the batch, e.g. dp"),
      cl::location(o.sharding.batch), cl::cat(category));
  static Flag<std::string> params(
      "params",
      cl::desc("Axes that cut parameters where they are kept, and what "
               "goes with them, e.g. dp"),
      cl::location(o.sharding.params), cl::cat(category));
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
  options.run.sharding.axis = "cp";
  options.run.sharding.scan = "chain";
  options.run.loss = "next_token";
  options.run.hasLoss = true;
  options.run.withGradients = true;
  for (const char *name : {"strategy", "attention", "order", "params"})
    if (cl::getRegisteredOptions()[name]->getNumOccurrences() > 0)
      options.run.shardingFlags.push_back(std::string("--") + name);
  options.optimizer.update.accumulate = options.accumulate > 1;
  return options;
}

llvm::Error checkTrainOptions(const TrainOptions &options) {
  if (llvm::Error error = checkOptimizer(options.optimizer))
    return error;
  if (options.run.explain)
    return llvm::Error::success();
  return checkTrainFlags(options.run, options);
}

} // namespace cp
