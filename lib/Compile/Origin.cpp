//===- Origin.cpp - What a program was made of ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Origin.h"

#include "cp/Transforms/Passes.h"

namespace json = llvm::json;

namespace cp {

static json::Object shardingOf(const Sharding &sharding) {
  ShardingText text = textOf(sharding);
  return json::Object{{"axis", text.axis},
                      {"order", text.order},
                      {"batch", text.batch},
                      {"attention", text.attention},
                      {"scan", text.scan},
                      {"tp", text.tensorAxis},
                      {"tp_rows", text.tensorRows},
                      {"params", text.params},
                      {"replicate_unused", text.replicateUnused}};
}

static void addStep(json::Object &origin, const CompileOptions &options) {
  if (options.nextTokenLoss)
    origin["loss"] = "next_token";
  const UpdateOptions &update = options.update;
  if (update.optimizer == Optimizer::None) {
    if (options.gradients)
      origin["gradients"] = true;
    return;
  }
  origin["optimizer"] = update.optimizer == Optimizer::Adamw ? "adamw" : "sgd";
  origin["weight_decay"] = update.weightDecay;
  if (update.accumulate)
    origin["accumulate"] = true;
}

json::Object originOf(Stage stage, const CompileOptions &options) {
  const std::optional<Sharding> &sharding = options.sharding;
  json::Object origin{{"stage", stageName(stage)}};
  if (stage != Stage::Global)
    origin["strategy"] = "as given";
  else if (!sharding)
    origin["strategy"] = "none";
  else {
    origin["strategy"] = stringifyEnum(sharding->mixer);
    origin["sharding"] = shardingOf(*sharding);
  }
  addStep(origin, options);
  return origin;
}

} // namespace cp
