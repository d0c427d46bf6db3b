//===- cp-run.cpp - Run a model on N ranks ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckEach.h"
#include "Explain.h"
#include "Inputs.h"
#include "Options.h"
#include "Report.h"
#include "Requests.h"
#include "ShortDiagnostics.h"
#include "Trace.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <cstdio>
#include <cstdlib>
#include <new>

using namespace mlir;

namespace cp {
namespace {

/// Says on standard error what is going on.
class Progress {
public:
  explicit Progress(bool quiet) : quiet(quiet) {}
  void operator()(const llvm::Twine &what) const {
    if (!quiet)
      llvm::errs() << "cp-run: " << what << "\n";
  }

private:
  bool quiet;
};

llvm::Error writeJson(const std::string &path, const llvm::json::Value &value) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  file.os() << value << "\n";
  file.os().flush();
  code = file.os().error();
  // What is left to the stream's destructor would end the process.
  file.os().clear_error();
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  file.keep();
  return llvm::Error::success();
}

/// The results of the undecorated module on one rank and reference kernels.
llvm::Expected<std::vector<HostTensor>>
referenceResults(ModuleOp module, const CompileOptions &options,
                 llvm::ArrayRef<const HostTensor *> inputs) {
  CompileOptions plain = options;
  plain.strategy = "";
  plain.mesh = Mesh{{{options.axis, 1}}};
  llvm::Expected<std::unique_ptr<Program>> program =
      Program::compile(module, plain);
  if (!program)
    return program.takeError();
  if ((*program)->stage() != Stage::Global)
    return llvm::createStringError(
        "--check needs a module without layouts to compare with, but this one "
        "is " +
        stageName((*program)->stage()) +
        "; give the module that it was made from by --reference, or its "
        "results "
        "by --check-against");
  RunOptions run;
  run.kernels = CPRT_KERNELS_REFERENCE;
  llvm::Expected<RunResult> result = (*program)->run(inputs, run);
  if (!result)
    return result.takeError();
  return std::move(result->outputs);
}

llvm::Expected<std::vector<HostTensor>>
storedResults(const std::string &path, llvm::ArrayRef<TensorSpec> specs) {
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : specs) {
    llvm::Expected<HostTensor> tensor = readTensor(*file, spec);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// The worst of all results.
Difference compareAll(llvm::ArrayRef<HostTensor> results,
                      llvm::ArrayRef<HostTensor> expected) {
  Difference worst{0, 0, true};
  for (auto [result, other] : llvm::zip_equal(results, expected))
    worst = worseOf(worst, compare(result, other));
  return worst;
}

/// What rounding may do to values of this type.
double toleranceOf(const Options &options, DType dtype) {
  if (options.tolerance)
    return *options.tolerance;
  if (dtype == DType::BF16)
    return 2e-2;
  return dtype == DType::F32 ? 1e-5 : 1e-12;
}

/// As much as the coarsest result's type allows.
double toleranceOf(const Options &options, llvm::ArrayRef<TensorSpec> results) {
  double tolerance = options.tolerance.value_or(1e-12);
  for (const TensorSpec &spec : results)
    tolerance = std::max(tolerance, toleranceOf(options, spec.dtype));
  return tolerance;
}

/// Fills in report.check; fails when results are too far from what is expected.
llvm::Error checkRun(ModuleOp module, const Options &options,
                     const CompileOptions &compile, const Program &program,
                     llvm::ArrayRef<const HostTensor *> inputs,
                     Report &report) {
  llvm::Expected<std::vector<HostTensor>> expected =
      options.check == Check::Results
          ? referenceResults(module, compile, inputs)
          : storedResults(options.checkAgainst, program.results());
  if (!expected)
    return expected.takeError();
  report.check = compareAll(report.run.outputs, *expected);
  return llvm::Error::success();
}

llvm::Error saveFiles(const Options &options, const Program &program,
                      llvm::ArrayRef<HostTensor> inputs, const Report &report) {
  if (!options.saveWeights.empty())
    if (llvm::Error error = writeSafetensors(
            options.saveWeights, viewsOf(program.arguments(), inputs, true),
            {{"format", "pt"}}))
      return error;
  if (!options.outputs.empty())
    if (llvm::Error error = writeSafetensors(
            options.outputs,
            viewsOf(program.results(), report.run.outputs, false)))
      return error;
  if (!options.report.empty())
    return writeJson(options.report, toJson(report));
  return llvm::Error::success();
}

/// The module, parsed and verified; diagnostics go to standard error.
OwningOpRef<ModuleOp> parseModule(const std::string &path, MLIRContext &context,
                                  llvm::SourceMgr &sources) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file) {
    llvm::errs() << "cp-run: error: " << message << "\n";
    return {};
  }
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

/// A module's own mesh must be the one asked for, if one was.
llvm::Error checkMesh(const Options &options, const CompileOptions &compile,
                      const Mesh &mesh) {
  if (options.ranks && mesh.numRanks() != *options.ranks)
    return llvm::createStringError("--ranks=" + std::to_string(*options.ranks) +
                                   ", but the module's own mesh has " +
                                   std::to_string(mesh.numRanks()) + " ranks");
  if (!options.mesh.empty() && !(compile.mesh == mesh))
    return llvm::createStringError("--mesh=" + options.mesh +
                                   ", but the module has another mesh of its "
                                   "own; leave --mesh out");
  return llvm::Error::success();
}

/// The program, for the ranks that were asked for.
llvm::Expected<std::unique_ptr<Program>>
compileFor(ModuleOp module, const Options &options,
           const CompileOptions &compile) {
  llvm::Expected<std::unique_ptr<Program>> program =
      Program::compile(module, compile);
  if (!program)
    return program.takeError();
  if (llvm::Error error = checkMesh(options, compile, (*program)->mesh()))
    return error;
  return program;
}

/// Compiles, and prints what was decided.
llvm::Error explainModel(ModuleOp module, const Options &options) {
  llvm::Expected<CompileOptions> compile = compileOptions(options);
  if (!compile)
    return compile.takeError();
  llvm::Expected<std::unique_ptr<DecisionRecorder>> recorder =
      DecisionRecorder::attach(*module.getContext());
  if (!recorder)
    return recorder.takeError();
  llvm::Expected<std::unique_ptr<Program>> program =
      compileFor(module, options, *compile);
  if (!program)
    return program.takeError();
  printDecisions((*recorder)->decisions(), (*program)->mesh().numRanks(),
                 llvm::outs());
  return llvm::Error::success();
}

/// Moves ids, and writes the report.
llvm::Error traceProgram(ModuleOp module, const Options &options) {
  if (options.check != Check::None || !options.checkAgainst.empty() ||
      !options.outputs.empty() || !options.saveWeights.empty())
    return llvm::createStringError(
        "--trace-tokens moves ids and computes no numbers, so it takes no "
        "--check, --check-against, --outputs or --save-weights; give these to "
        "a run without it");
  llvm::Expected<CompileOptions> compile = compileOptions(options);
  if (!compile)
    return compile.takeError();
  llvm::json::Value json = nullptr;
  llvm::Error error = traceModel(module, *compile, json);
  if (options.report.empty())
    return error;
  return llvm::joinErrors(std::move(error), writeJson(options.report, json));
}

llvm::Error runModel(ModuleOp module, ModuleOp reference,
                     const Options &options) {
  Progress progress(options.quiet);
  llvm::Expected<CompileOptions> compile = compileOptions(options);
  if (!compile)
    return compile.takeError();
  if (options.check == Check::Each)
    return checkEach(module, reference, options, *compile, runOptions(options),
                     [&](DType dtype) { return toleranceOf(options, dtype); });
  progress("compiling");
  llvm::Expected<std::unique_ptr<Program>> program =
      compileFor(module, options, *compile);
  if (!program)
    return program.takeError();
  int64_t ranks = (*program)->mesh().numRanks();
  progress(options.weights.empty()
               ? "drawing weights from seed " + std::to_string(options.seed)
               : "reading " + options.weights);
  llvm::Expected<std::vector<HostTensor>> tensors =
      gatherInputs((*program)->arguments(), options);
  if (!tensors)
    return tensors.takeError();
  std::vector<const HostTensor *> inputs;
  for (const HostTensor &tensor : *tensors)
    inputs.push_back(&tensor);
  progress("running on " + std::to_string(ranks) +
           (ranks == 1 ? " rank" : " ranks"));
  llvm::Expected<RunResult> run = (*program)->run(inputs, runOptions(options));
  if (!run)
    return run.takeError();
  Stage stage = (*program)->stage();
  std::string strategy = compile->strategy.empty() ? "none" : compile->strategy;
  Report report{ranks,
                stageName(stage).str(),
                stage == Stage::Global ? strategy : "as given",
                std::nullopt,
                (*program)->compileSeconds(),
                std::move(*run)};
  bool checks = options.check == Check::Results;
  if (checks || !options.checkAgainst.empty()) {
    progress(checks ? "checking on reference kernels"
                    : "checking against " + options.checkAgainst);
    if (llvm::Error error =
            checkRun(reference, options, *compile, **program, inputs, report))
      return error;
  }
  if (llvm::Error error = saveFiles(options, **program, *tensors, report))
    return error;
  if (!options.quiet)
    printTable(report, llvm::outs());
  double tolerance = toleranceOf(options, (*program)->results());
  if (report.check && !(report.check->relL2 <= tolerance))
    return llvm::createStringError(
        llvm::formatv("the check failed: rel_l2 is {0:e2}, but at most {1:e2} "
                      "is allowed",
                      report.check->relL2, tolerance)
            .str());
  return llvm::Error::success();
}

} // namespace
} // namespace cp

/// Tensors of an absurd size are an error like any other.
static void failOutOfMemory() {
  std::fputs("cp-run: error: out of memory\n", stderr);
  std::_Exit(1);
}

int main(int argc, char **argv) {
  std::set_new_handler(failOutOfMemory);
  cp::Options options = cp::parseOptions(argc, argv);
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
  if (!module)
    return 1;
  OwningOpRef<ModuleOp> reference;
  if (!options.reference.empty()) {
    reference = cp::parseModule(options.reference, context, referenceSources);
    if (!reference)
      return 1;
  }
  if (llvm::Error error =
          options.explain ? cp::explainModel(*module, options)
          : options.traceTokens
              ? cp::traceProgram(*module, options)
              : cp::runModel(*module, reference ? *reference : *module,
                             options)) {
    shortDiagnostics.printRest();
    llvm::errs() << "cp-run: error: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  return 0;
}
