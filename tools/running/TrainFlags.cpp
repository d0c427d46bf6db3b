//===- TrainFlags.cpp - What training is asked for --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainFlags.h"

#include "Checkpoint.h"

#include <cmath>

namespace cl = llvm::cl;

namespace cp {

void defineTraining(TrainFlags &o, cl::OptionCategory &category) {
  static FileFlag data(
      "data",
      cl::desc("Text, whose bytes are the tokens; ids as .npy or .ids; or rows "
               "of a .safetensors file, as cprt_batch.h takes them"),
      cl::location(o.data), cl::cat(category));
  static OwnFlag<int64_t> documentEnd(
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
  static Flag<int64_t> steps(
      "steps", cl::desc("Number of steps (default: 100)"),
      cl::location(o.steps), cl::init(100), cl::cat(category));
  static Flag<double> rate("lr", cl::desc("Learning rate (default: 0.001)"),
                           cl::location(o.rate), cl::init(1e-3),
                           cl::cat(category));
  static Flag<int64_t> warmup(
      "warmup", cl::desc("Steps over which the rate grows from 0 (default: 0)"),
      cl::location(o.warmup), cl::init(0), cl::cat(category));
  static Flag<double> clip(
      "clip",
      cl::desc("The largest norm of all gradients (default: 1); 0: "
               "none"),
      cl::location(o.clip), cl::init(1.0), cl::cat(category));
  static FileFlag csv("csv", cl::desc("The curve, a line a step"),
                      cl::location(o.csv), cl::cat(category));
  static FileFlag checkpoint(
      "checkpoint", cl::desc("Folder for a folder step-N each checkpoint"),
      cl::location(o.checkpoint), cl::cat(category));
  static Flag<int64_t> every("checkpoint-every",
                             cl::desc("Steps between checkpoints (default: one "
                                      "behind the last step)"),
                             cl::location(o.every), cl::init(0),
                             cl::cat(category));
  static FileFlag resume(
      "resume",
      cl::desc("The step-N to go on from, whatever number of ranks wrote it"),
      cl::location(o.resume), cl::cat(category));
}

llvm::Error checkTrainFlags(const RunFlags &run, const TrainFlags &flags) {
  auto check = [](llvm::StringRef flag, double value) -> llvm::Error {
    if (std::isfinite(value) && value >= 0)
      return llvm::Error::success();
    return llvm::createStringError("--" + flag +
                                   " must be a number of at least 0, but is " +
                                   std::to_string(value));
  };
  if (flags.steps < 1)
    return llvm::createStringError("--steps must be at least 1, but is " +
                                   std::to_string(flags.steps));
  if (flags.accumulate < 1)
    return llvm::createStringError("--accumulate must be at least 1, but is " +
                                   std::to_string(flags.accumulate));
  if (flags.data.empty())
    return llvm::createStringError(
        "--data says what to train on; give a text, ids as .npy or .ids, or "
        "rows as .safetensors");
  if (flags.every < 0)
    return llvm::createStringError(
        "--checkpoint-every must be at least 0, but is " +
        std::to_string(flags.every));
  if (flags.every > 0 && flags.checkpoint.empty())
    return llvm::createStringError(
        "--checkpoint-every=" + std::to_string(flags.every) +
        " says when, but not where; give "
        "--checkpoint=DIR too");
  if (!flags.resume.empty() && !run.weights.empty())
    return llvm::createStringError("--resume has weights of its own; leave "
                                   "--weights out");
  if (flags.warmup < 0)
    return llvm::createStringError("--warmup must be at least 0, but is " +
                                   std::to_string(flags.warmup));
  if (llvm::Error error = check("lr", flags.rate))
    return error;
  if (llvm::Error error = check("clip", flags.clip))
    return error;
  if (llvm::Error error = checkResumed(flags.resume))
    return error;
  return checkRunFlags(run);
}

} // namespace cp
