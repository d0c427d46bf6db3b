//===- TrainOptions.cpp - The command line of cp-train ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainOptions.h"

#include "llvm/Support/CommandLine.h"

#include <cmath>

namespace cl = llvm::cl;

namespace cp {
namespace {

cl::OptionCategory category("cp-train options");

template <typename T> using Flag = cl::opt<T, /*ExternalStorage=*/true>;

void defineModel(TrainOptions &all) {
  Options &o = all.run;
  static cl::opt<std::string, true> model(
      cl::Positional,
      cl::desc("<model.mlir, of whole tensors, or config.json>"),
      cl::location(o.model), cl::init("-"), cl::cat(category));
  static Flag<int64_t> batchSize(
      "batch-size", cl::desc("config.json: sequences of a batch (default: 1)"),
      cl::location(all.batchSize), cl::init(0), cl::cat(category));
  static Flag<int64_t> sequence(
      "seq", cl::desc("config.json: tokens of a sequence (default: 1024)"),
      cl::location(all.sequence), cl::init(0), cl::cat(category));
  static Flag<std::string> dtype(
      "dtype", cl::desc("config.json: f32, f64 or bf16 (default: f32)"),
      cl::location(all.dtype), cl::cat(category));
  static Flag<int64_t> documents(
      "documents",
      cl::desc("config.json: the most documents of a row (default: a row is "
               "one); of running text, --document-end says where they end"),
      cl::location(all.documents), cl::init(0), cl::cat(category));
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
      "order", cl::desc("Token order: contiguous, zigzag or striped"),
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
  static Flag<std::string> weights(
      "weights", cl::desc(".safetensors to start from (default: drawn)"),
      cl::location(o.weights), cl::cat(category));
  static Flag<uint64_t> seed("seed", cl::desc("Of what is drawn"),
                             cl::location(o.seed), cl::init(0),
                             cl::cat(category));
  static Flag<int64_t> threads(
      "rank-threads", cl::desc("Threads of a rank (default: processors/ranks)"),
      cl::location(o.threads), cl::init(0), cl::cat(category));
  defineTransport(o, category);
  static Flag<int64_t> memory(
      "max-memory",
      cl::desc("Bytes that the run may take (default: what the "
               "machine has available)"),
      cl::location(o.maxMemory), cl::init(0), cl::cat(category));
  static Flag<bool> explain(
      "explain",
      cl::desc("Print what travels in a step, layer by layer, and "
               "what takes the memory, and stop"),
      cl::location(o.explain), cl::cat(category));
  static Flag<bool> quiet("quiet", cl::desc("Print no line a step"),
                          cl::location(o.quiet), cl::cat(category));
}

void defineTraining(TrainOptions &o) {
  static Flag<std::string> data(
      "data",
      cl::desc("Text, whose bytes are the tokens; ids as .npy or .ids; or rows "
               "of a .safetensors file, as cprt_batch.h takes them"),
      cl::location(o.data), cl::cat(category));
  static cl::opt<int64_t> documentEnd(
      "document-end",
      cl::desc("Token behind which a document of the data ends: nothing passes "
               "from one to the next (10: lines of a text)"),
      cl::cat(category),
      cl::callback([&o](const int64_t &value) { o.documentEnd = value; }));
  static Flag<bool> shuffle(
      "shuffle", cl::desc("Draw the order of the data's windows, by --seed"),
      cl::location(o.shuffle), cl::cat(category));
  static Flag<int64_t> accumulate(
      "accumulate", cl::desc("Batches of a step, one in memory (default: 1)"),
      cl::location(o.accumulate), cl::init(1), cl::cat(category));
  static Flag<int64_t> steps("steps", cl::desc("Number of steps"),
                             cl::location(o.steps), cl::init(100),
                             cl::cat(category));
  static Flag<Optimizer> optimizer(
      "optimizer", cl::desc("How weights are stepped (default: adamw)"),
      cl::location(o.update.optimizer), cl::init(Optimizer::Adamw),
      cl::values(clEnumValN(Optimizer::Sgd, "sgd", "plain gradient descent"),
                 clEnumValN(Optimizer::Adamw, "adamw", "AdamW")),
      cl::cat(category));
  static Flag<double> rate("lr", cl::desc("Learning rate"),
                           cl::location(o.rate), cl::init(1e-3),
                           cl::cat(category));
  static Flag<int64_t> warmup(
      "warmup", cl::desc("Steps over which the rate grows from 0"),
      cl::location(o.warmup), cl::init(0), cl::cat(category));
  static Flag<double> clip(
      "clip", cl::desc("The largest norm of all gradients; 0: none"),
      cl::location(o.clip), cl::init(1.0), cl::cat(category));
  static Flag<double> decay("weight-decay", cl::desc("How fast weights decay"),
                            cl::location(o.update.weightDecay), cl::init(0.0),
                            cl::cat(category));
  static Flag<int64_t> memory(
      "memory",
      cl::desc("Bytes that a rank's program may work on: what does not fit of "
               "the forward pass is computed again"),
      cl::location(o.memory.limit), cl::init(0), cl::cat(category));
  static Flag<bool> exchanges(
      "recompute-exchanges",
      cl::desc("With --memory: what has travelled may travel again"),
      cl::location(o.memory.exchanges), cl::cat(category));
  static Flag<std::string> csv("csv", cl::desc("The curve, a line a step"),
                               cl::location(o.csv), cl::cat(category));
  static Flag<std::string> saveWeights(
      "save-weights", cl::desc("Write the trained weights (.safetensors)"),
      cl::location(o.saveWeights), cl::cat(category));
}

void defineCheckpoints(TrainOptions &o) {
  static Flag<std::string> checkpoint(
      "checkpoint", cl::desc("Folder for a folder step-N each checkpoint"),
      cl::location(o.checkpoint), cl::cat(category));
  static Flag<int64_t> every("checkpoint-every",
                             cl::desc("Steps between checkpoints (default: one "
                                      "behind the last step)"),
                             cl::location(o.every), cl::init(0),
                             cl::cat(category));
  static Flag<std::string> resume(
      "resume", cl::desc("The step-N to go on from, on any number of ranks"),
      cl::location(o.resume), cl::cat(category));
}

} // namespace

TrainOptions parseTrainOptions(int argc, char **argv) {
  // Flags write into it, and are never taken away.
  static TrainOptions options;
  defineModel(options);
  defineTraining(options);
  defineCheckpoints(options);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Train a model on N ranks\n");
  options.run.sharding.axis = "cp";
  options.run.sharding.scan = "chain";
  options.run.kernels = "fast";
  options.run.loss = "next_token";
  options.run.withGradients = true;
  for (const char *name : {"strategy", "attention", "order", "params"})
    if (cl::getRegisteredOptions()[name]->getNumOccurrences() > 0)
      options.run.shardingFlags.push_back(std::string("--") + name);
  options.update.accumulate = options.accumulate > 1;
  return options;
}

llvm::Error checkTrainOptions(const TrainOptions &options) {
  auto check = [](llvm::StringRef flag, double value) -> llvm::Error {
    if (std::isfinite(value) && value >= 0)
      return llvm::Error::success();
    return llvm::createStringError("--" + flag +
                                   " must be a number of at least 0, but is " +
                                   std::to_string(value));
  };
  if (options.steps < 1)
    return llvm::createStringError("--steps must be at least 1, but is " +
                                   std::to_string(options.steps));
  if (options.accumulate < 1)
    return llvm::createStringError("--accumulate must be at least 1, but is " +
                                   std::to_string(options.accumulate));
  if (options.data.empty() && !options.run.explain)
    return llvm::createStringError("--data says what to train on; give a text, "
                                   "or ids as .npy or .ids");
  if (options.memory.limit < 0)
    return llvm::createStringError("--memory must be at least 0, but is " +
                                   std::to_string(options.memory.limit));
  if (options.run.maxMemory < 0)
    return llvm::createStringError("--max-memory must be at least 0, but is " +
                                   std::to_string(options.run.maxMemory));
  if (options.every < 0)
    return llvm::createStringError(
        "--checkpoint-every must be at least 0, but is " +
        std::to_string(options.every));
  if (!options.resume.empty() && !options.run.weights.empty())
    return llvm::createStringError("--resume has weights of its own; leave "
                                   "--weights out");
  if (options.warmup < 0)
    return llvm::createStringError("--warmup must be at least 0, but is " +
                                   std::to_string(options.warmup));
  if (llvm::Error error = check("lr", options.rate))
    return error;
  if (llvm::Error error = check("clip", options.clip))
    return error;
  return check("weight-decay", options.update.weightDecay);
}

} // namespace cp
