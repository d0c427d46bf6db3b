//===- CheckEach.cpp - A run checked op by op -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckEach.h"

#include "StoredCheck.h"

#include "Check.h"
#include "Inputs.h"
#include "Requests.h"
#include "ResultNumbers.h"
#include "RunModel.h"
#include "cp/IR/CPDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace cp {
namespace {

std::string indexText(llvm::ArrayRef<int64_t> index) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(index, os);
  return text + "]";
}

std::string typeText(const TensorSpec &value, mlir::MLIRContext *context) {
  std::string text =
      dtypeName(value.dtype).str() + " " + shapeText(value.shape);
  auto layout = LayoutAttr::get(context, value.layout);
  llvm::raw_string_ostream(text) << ", " << layout;
  return text;
}

void print(const Departure &departure, mlir::MLIRContext *context,
           llvm::raw_ostream &os) {
  os << "first difference\n";
  os << "  value      " << describeValue(departure.value) << "\n";
  os << "  type       " << typeText(departure.value, context) << "\n";
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

void print(const EachComparison &comparison, mlir::MLIRContext *context,
           llvm::raw_ostream &os) {
  if (comparison.departure)
    print(*comparison.departure, context, os);
  os << (comparison.departure ? "before it " : "all ") << comparison.agreed
     << " values agree on every rank\n";
}

} // namespace

/// What of a program's gradients cannot be compared op by op.
static llvm::Error checkGradients(const CompileOptions &compile,
                                  const Program &program) {
  if (!compile.gradients || !compile.sharding)
    return llvm::Error::success();
  if (compile.differentiate == DifferentiatedView::Local)
    return llvm::createStringError(
        "--check=each compares no gradients of a program that is "
        "differentiated as a rank's own; leave --differentiate=local out, or "
        "compare results by --check");
  for (const TensorSpec &spec : program.results()) {
    if (!spec.value)
      continue;
    llvm::ArrayRef<int64_t> lengths = spec.value->padded;
    for (size_t i = 0; i + 1 < lengths.size(); i += 2)
      if (lengths[i] != lengths[i + 1])
        return llvm::createStringError(
            "--check=each compares gradients only of lengths that ranks "
            "divide, but " +
            std::to_string(lengths[i + 1]) + " tokens are made " +
            std::to_string(lengths[i]) +
            "; leave --gradients out, or compare results by --check");
  }
  return llvm::Error::success();
}

llvm::Error checkEach(mlir::ModuleOp module, mlir::ModuleOp reference,
                      const Options &options, const CompileOptions &compile) {
  if (!options.outputs.empty() || !options.report.empty() ||
      !options.gradients.empty() || !options.saveWeights.empty())
    return llvm::createStringError(
        "--check=each writes no --outputs, --gradients=FILE, --report or "
        "--save-weights, as its program has other results; write them in a run "
        "without it");
  CompileOptions exposed = compile;
  exposed.exposeValues = true;
  auto program = compileProgram(module, exposed);
  if (!program)
    return program.takeError();
  if (llvm::Error error = checkGradients(compile, **program))
    return error;
  auto plain = compileReference(reference, options, exposed, **program);
  if (!plain)
    return plain.takeError();
  MemoryUse ofCheck = checkNeed((*program)->results(), plain->get());
  if (llvm::Error error =
          checkMemory(memoryNeed(**program).process + ofCheck, options))
    return error;
  llvm::Expected<Inputs> gathered =
      gatherInputs((*program)->arguments(), options);
  if (!gathered)
    return gathered.takeError();
  std::vector<const HostTensor *> inputs = gathered->pointers();
  RunOptions onReference;
  onReference.kernels = CPRT_KERNELS_REFERENCE;
  llvm::Expected<RunResult> expected = (*plain)->run(inputs, onReference);
  if (!expected)
    return expected.takeError();
  auto withParts = runOptions(options, (*program)->mesh().numRanks());
  if (!withParts)
    return withParts.takeError();
  withParts->keepParts = true;
  llvm::Expected<RunResult> result = (*program)->run(inputs, *withParts);
  if (!result)
    return result.takeError();
  if (!options.speaks())
    return llvm::Error::success();
  warnOf(numbersOf((*program)->results(), result->outputs).notFinite,
         options.tool, llvm::errs());
  auto comparison =
      compareEach({(*program)->results(), *result},
                  {(*plain)->results(), *expected}, toleranceOf(options));
  if (!comparison)
    return comparison.takeError();
  print(*comparison, module.getContext(), llvm::outs());
  if (comparison->departure)
    return llvm::createStringError(
        "the check failed: the run leaves that of one rank at " +
        describeValue(comparison->departure->value) +
        "; where few elements are off by little it may be rounding, which "
        "layers magnify: try --tolerance, or the model in f64");
  return llvm::Error::success();
}

} // namespace cp
