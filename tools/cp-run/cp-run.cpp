//===- cp-run.cpp - Run a model on N ranks ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "Inputs.h"
#include "Packing.h"
#include "ParseOptions.h"
#include "Process.h"
#include "ReadModel.h"
#include "Requests.h"
#include "Rows.h"
#include "RunModel.h"
#include "Saving.h"
#include "ShortDiagnostics.h"
#include "Trace.h"
#include "cp/Compile/Artifact.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace cp {
namespace {

/// The module, parsed and verified; diagnostics go to standard error.
OwningOpRef<ModuleOp> parseModule(const std::string &path, MLIRContext &context,
                                  llvm::SourceMgr &sources) {
  auto file = openModel(path);
  if (!file) {
    // At once: the ranks of a job write to one terminal.
    llvm::errs() << "cp-run: error: " + llvm::toString(file.takeError()) + "\n";
    return {};
  }
  if (llvm::sys::path::extension(path) == ".json") {
    llvm::errs() << "cp-run: error: '" + path +
                        "' is no module of MLIR; make one of a config.json by "
                        "cp-translate --import-hf\n";
    return {};
  }
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

/// Where documents lie in the rows that are given, by --rows or by --inputs for
/// a program that takes lists of them; nothing for others.
llvm::Expected<std::optional<PackedRows>>
rowsFor(const Options &options, llvm::ArrayRef<TensorSpec> specs) {
  if (!options.rows.empty()) {
    llvm::Expected<RowBatch> rows = readRows(options, specs);
    if (!rows)
      return rows.takeError();
    return rows->documents();
  }
  const TensorSpec *tokens = RowBatch::tokensOf(specs);
  if (options.inputs.empty() || !tokens || llvm::none_of(specs, isDocuments))
    return std::nullopt;
  // Weights say nothing about them.
  Options ofInputs = options;
  ofInputs.weights.clear();
  std::vector<TensorSpec> given;
  llvm::copy_if(specs, std::back_inserter(given),
                [](const TensorSpec &spec) { return !spec.isParam; });
  llvm::Expected<Inputs> inputs = gatherInputs(given, ofInputs);
  if (!inputs)
    return inputs.takeError();
  auto list = llvm::find_if(given, isDocuments);
  llvm::Expected<PackedRows> rows = packedRows(
      inputs->tensors[size_t(list - given.begin())], tokens->shape[1]);
  if (!rows)
    return llvm::createStringError(options.inputs + ": " +
                                   llvm::toString(rows.takeError()));
  return std::move(*rows);
}

/// Compiles, and prints what was decided.
llvm::Error explainModel(ModuleOp module, const Options &options) {
  llvm::Expected<CompileOptions> compile = compileOptions(module, options);
  if (!compile)
    return compile.takeError();
  llvm::Expected<std::unique_ptr<DecisionRecorder>> recorder =
      DecisionRecorder::attach(*module.getContext());
  if (!recorder)
    return recorder.takeError();
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(module, *compile);
  if (!program)
    return program.takeError();
  printDecisions((*recorder)->decisions(), (*program)->mesh().numRanks(),
                 memoryNeed(**program), llvm::outs());
  llvm::Expected<std::optional<PackedRows>> rows =
      rowsFor(options, (*program)->arguments());
  if (!rows)
    return rows.takeError();
  std::optional<Order> perDocument;
  if (compile->sharding && compile->sharding->isPerDocument())
    perDocument = compile->sharding->sequence.front().order;
  if (*rows)
    printPacking(**rows, (*program)->arguments(), perDocument, llvm::outs());
  return llvm::Error::success();
}

/// Compiles to a file.
llvm::Error emitProgram(ModuleOp module, const Options &options) {
  llvm::Expected<CompileOptions> compile = compileOptions(module, options);
  if (!compile)
    return compile.takeError();
  if (llvm::Error error =
          checkFiles({{"--emit", options.emit}}, inputsOf(options)))
    return error;
  return writeArtifact(module, *compile, {options.targetCpu, /*header=*/""},
                       options.emit);
}

/// Moves ids, and writes the report.
llvm::Error traceProgram(ModuleOp module, const Options &options) {
  if (options.differentiate == DifferentiatedView::Local)
    return llvm::createStringError(
        "--trace-tokens follows what the program of whole tensors says, and "
        "adjoints of a rank's own program are not in it; leave "
        "--differentiate=local out, or check it by --check");
  llvm::Expected<CompileOptions> compile = compileOptions(module, options);
  if (!compile)
    return compile.takeError();
  if (llvm::Error error = checkOutputs(options))
    return error;
  llvm::json::Value json = nullptr;
  llvm::Error error = traceModel(module, *compile, json);
  if (options.report.empty())
    return error;
  return llvm::joinErrors(std::move(error), writeJson(options.report, json));
}

} // namespace
} // namespace cp

int main(int argc, char **argv) {
  cp::beginProcess("cp-run");
  cp::Options options = cp::parseOptions(argc, argv);
  // What is wrong on one rank the others are told, which wait for it.
  llvm::Error wrong = cp::checkTogether(options);
  if (llvm::Error error =
          llvm::joinErrors(std::move(wrong), cp::joinAsRanks(options, argv[0])))
    return cp::fail(options, std::move(error));
  if (llvm::Error error = cp::openDevice(options, argv[0]))
    return cp::fail(options, std::move(error));
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  MLIRContext context(registry);
  // Ops of whole models are too long to print with an error.
  context.printOpOnDiagnostic(false);
  // A parser reads the first buffer.
  llvm::SourceMgr sources, referenceSources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  cp::ShortDiagnostics shortDiagnostics(sources, &context);
  OwningOpRef<ModuleOp> module =
      cp::parseModule(options.model, context, sources);
  if (!module) {
    cp::decline(options, options.model + " cannot be read");
    return 1;
  }
  OwningOpRef<ModuleOp> reference;
  if (!options.reference.empty()) {
    reference = cp::parseModule(options.reference, context, referenceSources);
    if (!reference) {
      cp::decline(options, options.reference + " cannot be read");
      return 1;
    }
  }
  if (llvm::Error error =
          options.explain         ? cp::explainModel(*module, options)
          : !options.emit.empty() ? cp::emitProgram(*module, options)
          : options.traceTokens
              ? cp::traceProgram(*module, options)
              : cp::runModel(*module, reference ? *reference : *module,
                             options)) {
    shortDiagnostics.printRest();
    return cp::fail(options, std::move(error));
  }
  return cp::exitStatus("cp-run", 0);
}
