//===- cp-train.cpp - Train a model on N ranks ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "ReadModel.h"
#include "ShortDiagnostics.h"
#include "TrainModel.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static llvm::Error train(cp::TrainOptions &options, const char *program) {
  if (llvm::Error error = cp::joinAsRanks(options.run, program))
    return error;
  if (llvm::Error error = cp::openDevice(options.run, program))
    return error;
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  MLIRContext context(registry);
  // Ops of whole models are too long to print with an error.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  cp::ShortDiagnostics shortDiagnostics(sources, &context);
  llvm::Expected<OwningOpRef<ModuleOp>> module =
      cp::readModel(options.run.model, options.sizes, context, sources);
  if (!module)
    return module.takeError();
  llvm::Error error = cp::trainModel(**module, options);
  shortDiagnostics.printRest();
  return error;
}

int main(int argc, char **argv) {
  cp::beginProcess("cp-train");
  cp::TrainOptions options = cp::parseTrainOptions(argc, argv);
  if (llvm::Error error = train(options, argv[0]))
    return cp::fail(options.run, std::move(error));
  return cp::exitStatus("cp-train", 0);
}
