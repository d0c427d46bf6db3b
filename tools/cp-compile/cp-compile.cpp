//===- cp-compile.cpp - Compile a model to a file ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerFlags.h"
#include "Options.h"
#include "Process.h"
#include "ReadModel.h"
#include "Requests.h"
#include "Saving.h"
#include "ShortDiagnostics.h"
#include "cp/Compile/Artifact.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace cp {
namespace {

cl::OptionCategory category("cp-compile options");

struct FileOptions : Options {
  ModelSizes sizes;
  OptimizerFlags optimizer;
  bool accumulates = false;
  std::string header;
};

FileOptions parseOptions(int argc, char **argv) {
  // Flags keep pointers into it.
  static FileOptions options;
  options.tool = "cp-compile";
  defineModule(options, category);
  defineSizes(options.sizes, category);
  defineLoss(options, category);
  defineFile(options, category);
  defineOptimizer(options.optimizer, category);
  static Flag<bool> accumulate(
      "accumulate",
      cl::desc("With --optimizer: let a step take several batches"),
      cl::location(options.accumulates), cl::cat(category));
  static WordFlag device(
      "device",
      cl::desc(
          "cuda: token-wise loops are code for cards too, so that cp-launch "
          "--device=cuda runs the file"),
      cl::location(options.device), cl::cat(category));
  static FileFlag output("o", cl::Required, cl::desc("The file to write"),
                         cl::location(options.emit), cl::cat(category));
  static FileFlag header(
      "header",
      cl::desc("Write a C header that names the buffers of the file's entries"),
      cl::location(options.header), cl::cat(category));
  cl::Option *optimizer = cl::getRegisteredOptions()["optimizer"];
  optimizer->setDescription(
      "Train: a step of this optimizer in place of the logits (default: none)");
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Compile a model to a shared library that cp-launch runs\n");
  noteSharding(options);
  // What is not given is not AdamW here, but none.
  if (!optimizer->getNumOccurrences())
    options.optimizer.update.optimizer = Optimizer::None;
  return options;
}

/// A step of an optimizer is one of the loss's gradients.
llvm::Error addStep(FileOptions &options) {
  OptimizerFlags &step = options.optimizer;
  if (llvm::Error error = checkOptimizer(step))
    return error;
  if (step.update.optimizer == Optimizer::None) {
    if (options.accumulates || step.update.weightDecay != 0)
      return llvm::createStringError(
          llvm::Twine(options.accumulates ? "--accumulate" : "--weight-decay") +
          " is for steps of an optimizer; give --optimizer too");
    return llvm::Error::success();
  }
  if (options.withGradients)
    return llvm::createStringError(
        "--optimizer makes steps of the gradients, and its program gives none; "
        "leave --gradients or --optimizer out");
  if (options.vjp)
    return llvm::createStringError(
        "--vjp takes cotangents, and --optimizer the gradients of a loss; "
        "leave one out");
  options.loss = "next_token";
  options.hasLoss = options.withGradients = true;
  step.update.accumulate = options.accumulates;
  return llvm::Error::success();
}

llvm::Error compileFile(FileOptions options) {
  options.hasLoss = !options.loss.empty();
  if (!options.gradients.empty())
    return llvm::createStringError(
        "--gradients=" + options.gradients +
        " names a file to write, and cp-compile runs nothing; give it to "
        "cp-launch --outputs");
  if (!options.device.empty() && options.device != "cuda")
    return llvm::createStringError("--device must be cuda, but is '" +
                                   options.device + "'");
  if (llvm::Error error = addStep(options))
    return error;
  if (llvm::Error error =
          checkFiles({{"-o", options.emit}, {"--header", options.header}},
                     inputsOf(options)))
    return error;
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  MLIRContext context(registry);
  // Ops of whole models are too long to print with an error.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  ShortDiagnostics shortDiagnostics(sources, &context);
  auto module = readModel(options.model, options.sizes, context, sources);
  if (!module)
    return module.takeError();
  llvm::Expected<CompileOptions> compile = compileOptions(**module, options);
  if (!compile)
    return compile.takeError();
  compile->update = options.optimizer.update;
  compile->memory = options.optimizer.memory;
  return writeArtifact(**module, *compile, {options.targetCpu, options.header},
                       options.emit);
}

} // namespace
} // namespace cp

int main(int argc, char **argv) {
  cp::beginProcess("cp-compile");
  if (llvm::Error error = cp::compileFile(cp::parseOptions(argc, argv))) {
    llvm::errs() << "cp-compile: error: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  return 0;
}
