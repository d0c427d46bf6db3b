//===- OptimizerFlags.cpp - Which optimizer a step ends with ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerFlags.h"

#include <cmath>

namespace cl = llvm::cl;

namespace cp {

void defineOptimizer(OptimizerFlags &o, cl::OptionCategory &category) {
  static Flag<Optimizer> optimizer(
      "optimizer", cl::desc("How weights are stepped (default: adamw)"),
      cl::location(o.update.optimizer), cl::init(Optimizer::Adamw),
      cl::values(clEnumValN(Optimizer::Sgd, "sgd", "plain gradient descent"),
                 clEnumValN(Optimizer::Adamw, "adamw", "AdamW")),
      cl::cat(category));
  static Flag<double> decay(
      "weight-decay", cl::desc("How fast weights decay (default: 0)"),
      cl::location(o.update.weightDecay), cl::init(0.0), cl::cat(category));
  static Flag<int64_t> memory(
      "memory",
      cl::desc("Bytes that a rank's program may work on: what does not fit of "
               "the forward pass is computed again"),
      cl::location(o.memory.limit), cl::init(0), cl::cat(category));
  static Flag<bool> exchanges(
      "recompute-exchanges",
      cl::desc("With --memory: what has travelled may travel again"),
      cl::location(o.memory.exchanges), cl::cat(category));
}

void defineOverlap(bool &isOn, cl::OptionCategory &category) {
  static Flag<bool> overlap(
      "overlap",
      cl::desc("In a job: gradients are summed while the backward pass goes "
               "on, for the memory of a layer's"),
      cl::location(isOn), cl::cat(category));
}

llvm::Error checkOptimizer(const OptimizerFlags &flags) {
  if (flags.memory.limit < 0)
    return llvm::createStringError("--memory must be at least 0, but is " +
                                   std::to_string(flags.memory.limit));
  if (flags.memory.exchanges && !flags.memory.limit)
    return llvm::createStringError(
        "--recompute-exchanges is about what --memory makes again; give "
        "--memory=BYTES too");
  double decay = flags.update.weightDecay;
  if (!std::isfinite(decay) || decay < 0)
    return llvm::createStringError(
        "--weight-decay must be a number of at least 0, but is " +
        std::to_string(decay));
  return llvm::Error::success();
}

} // namespace cp
