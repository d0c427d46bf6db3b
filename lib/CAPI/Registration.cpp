//===- Registration.cpp - Dialect, passes and pipelines from C --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Registration.h"

#include "PipelineOptions.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Support.h"

void cpRegisterAllDialects(MlirDialectRegistry registry) {
  cp::registerAllDialects(*unwrap(registry));
  cp::registerAllExtensions(*unwrap(registry));
}

void cpRegisterAllPasses(void) { cp::registerAllPasses(); }

llvm::LogicalResult cp::readOptions(const CpShardPipelineOptions &options,
                                    ShardPipelineOptions &pipeline) {
  auto set = [](auto &option, MlirStringRef text) {
    if (text.length)
      option = unwrap(text).str();
  };
  set(pipeline.mesh, options.mesh);
  set(pipeline.axis, options.axis);
  set(pipeline.order, options.order);
  set(pipeline.batch, options.batch);
  set(pipeline.mixer, options.mixer);
  set(pipeline.attention, options.attention);
  set(pipeline.tensorAxis, options.tensorAxis);
  set(pipeline.params, options.params);
  set(pipeline.scan, options.scan);
  pipeline.expose = options.expose;
  pipeline.split = options.split;
  if (options.tensorRows)
    pipeline.tensorRows = true;
  if (options.replicateUnused)
    pipeline.replicateUnused = true;
  if (options.partialGradients)
    pipeline.partialGradients = true;
  auto setNumber = [](auto &option, auto number) {
    if (number != 0)
      option = number;
  };
  setNumber(pipeline.beta1, options.beta1);
  setNumber(pipeline.beta2, options.beta2);
  setNumber(pipeline.eps, options.eps);
  setNumber(pipeline.weightDecay, options.weightDecay);
  setNumber(pipeline.memory, options.memory);
  pipeline.accumulate = options.accumulate;
  pipeline.recomputeExchanges = options.recomputeExchanges;
  // Choices, which the options know the names of.
  auto choose = [&](llvm::StringRef name, MlirStringRef text) {
    return text.length
               ? pipeline.parseFromString((name + "=" + unwrap(text)).str())
               : mlir::success();
  };
  return llvm::success(
      succeeded(choose("gradients", options.gradients)) &&
      succeeded(choose("differentiate", options.differentiate)) &&
      succeeded(choose("optimizer", options.optimizer)));
}

MlirLogicalResult cpBuildShardPipeline(MlirOpPassManager manager,
                                       const CpShardPipelineOptions *options) {
  cp::ShardPipelineOptions pipeline;
  if (failed(cp::readOptions(*options, pipeline)))
    return mlirLogicalResultFailure();
  cp::buildShardPipeline(*unwrap(manager), pipeline);
  return mlirLogicalResultSuccess();
}

void cpBuildLowerPipeline(MlirOpPassManager manager,
                          const CpLowerPipelineOptions *options) {
  CpLowerPipelineOptions defaults = {};
  const CpLowerPipelineOptions &given = options ? *options : defaults;
  cp::buildLowerPipeline(*unwrap(manager), {given.overlap, given.device});
}
