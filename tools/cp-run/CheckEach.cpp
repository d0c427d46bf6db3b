//===- CheckEach.cpp - A run checked op by op -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckEach.h"

#include "Inputs.h"
#include "cp/IR/CPDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace cp {
namespace {

/// A program with its results, of which those of its ops are checked.
struct Exposed {
  std::unique_ptr<Program> program;
  RunResult run;
};

std::string indexText(llvm::ArrayRef<int64_t> index) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(index, os);
  return text + "]";
}

std::string typeText(const TensorSpec &value) {
  std::string text =
      dtypeName(value.dtype).str() + " " + shapeText(value.shape);
  auto layout = LayoutAttr::get(value.value.getContext(), value.layout);
  llvm::raw_string_ostream(text) << ", " << layout;
  return text;
}

void print(const Departure &departure, llvm::raw_ostream &os) {
  os << "first difference\n";
  os << "  value      " << describeValue(departure.value) << "\n";
  os << "  type       " << typeText(departure.value) << "\n";
  os << "  rank       " << departure.rank << "\n";
  os << "  index      " << indexText(departure.localIndex)
     << " of the rank's part, " << indexText(departure.globalIndex)
     << " of the whole\n";
  os << llvm::formatv("  got        {0:e9}\n  expected   {1:e9}\n",
                      departure.got, departure.expected);
  os << llvm::formatv("  rel_l2     {0:e2} on this rank, at most {1:e2}\n",
                      departure.relativeError, departure.tolerance);
  os << llvm::formatv("  elements   {0} of {1} on this rank are off by more "
                      "than {2:e2}\n",
                      departure.wrong, departure.elements,
                      departure.tolerance * departure.scale);
}

void print(const EachComparison &comparison, llvm::raw_ostream &os) {
  if (comparison.departure)
    print(*comparison.departure, os);
  os << (comparison.departure ? "before it " : "all ") << comparison.agreed
     << " values agree on every rank\n";
}

llvm::Error inputsDiffer(llvm::ArrayRef<TensorSpec> a,
                         llvm::ArrayRef<TensorSpec> b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i)
    same = a[i].name == b[i].name && a[i].dtype == b[i].dtype &&
           a[i].shape == b[i].shape;
  if (same)
    return llvm::Error::success();
  return llvm::createStringError(
      "--reference must take the same arguments as the module that is checked; "
      "give the module that it was made from");
}

llvm::Expected<std::unique_ptr<Program>>
compileExposed(mlir::ModuleOp module, CompileOptions compile) {
  compile.exposeValues = true;
  return Program::compile(module, compile);
}

/// The whole module on one rank.
llvm::Expected<Exposed>
runReference(mlir::ModuleOp module, CompileOptions compile,
             llvm::ArrayRef<TensorSpec> arguments,
             llvm::ArrayRef<const HostTensor *> inputs) {
  compile.strategy = "";
  compile.mesh = Mesh{{{compile.axis, 1}}};
  auto program = compileExposed(module, compile);
  if (!program)
    return program.takeError();
  if ((*program)->stage() != Stage::Global)
    return llvm::createStringError("--check=each needs the module before it "
                                   "was sharded, but this one is " +
                                   stageName((*program)->stage()) +
                                   "; give it by --reference");
  if (llvm::Error error = inputsDiffer(arguments, (*program)->arguments()))
    return error;
  RunOptions run;
  run.kernels = CPRT_KERNELS_REFERENCE;
  llvm::Expected<RunResult> result = (*program)->run(inputs, run);
  if (!result)
    return result.takeError();
  return Exposed{std::move(*program), std::move(*result)};
}

} // namespace

llvm::Error checkEach(mlir::ModuleOp module, mlir::ModuleOp reference,
                      const Options &options, const CompileOptions &compile,
                      const RunOptions &run, const ToleranceOf &toleranceOf) {
  if (!options.outputs.empty() || !options.report.empty() ||
      !options.saveWeights.empty())
    return llvm::createStringError(
        "--check=each writes no --outputs, --report or --save-weights, as its "
        "program has other results; write them in a run without it");
  auto program = compileExposed(module, compile);
  if (!program)
    return program.takeError();
  auto tensors = gatherInputs((*program)->arguments(), options);
  if (!tensors)
    return tensors.takeError();
  std::vector<const HostTensor *> inputs;
  for (const HostTensor &tensor : *tensors)
    inputs.push_back(&tensor);
  llvm::Expected<Exposed> expected =
      runReference(reference, compile, (*program)->arguments(), inputs);
  if (!expected)
    return expected.takeError();
  RunOptions withParts = run;
  withParts.keepParts = true;
  llvm::Expected<RunResult> result = (*program)->run(inputs, withParts);
  if (!result)
    return result.takeError();
  auto comparison =
      compareEach({(*program)->results(), *result},
                  {expected->program->results(), expected->run}, toleranceOf);
  if (!comparison)
    return comparison.takeError();
  print(*comparison, llvm::outs());
  if (comparison->departure)
    return llvm::createStringError(
        "the check failed: the run leaves that of one rank at " +
        describeValue(comparison->departure->value) +
        "; where few elements are off by little it may be rounding, which "
        "layers magnify: try --tolerance, or the model in f64");
  return llvm::Error::success();
}

} // namespace cp
