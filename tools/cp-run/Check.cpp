//===- Check.cpp - Results held against one rank --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "StoredCheck.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace cp {

static llvm::Error checkArguments(llvm::ArrayRef<TensorSpec> checked,
                                  llvm::ArrayRef<TensorSpec> reference) {
  auto same = [](const TensorSpec &a, const TensorSpec &b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  };
  if (llvm::equal(checked, reference, same))
    return llvm::Error::success();
  return llvm::createStringError(
      "--reference must take the same arguments as the module that is checked; "
      "give the module that it was made from");
}

static std::vector<TensorSpec> ownResults(const Program &program) {
  std::vector<TensorSpec> own;
  llvm::copy_if(program.results(), std::back_inserter(own),
                [](const TensorSpec &spec) { return !spec.value; });
  return own;
}

llvm::Expected<std::unique_ptr<Program>>
compileReference(mlir::ModuleOp reference, const Options &options,
                 CompileOptions compile, const Program &checked) {
  if (compile.exposeValues && compile.gradients)
    compile.preparedFor = std::move(compile.sharding);
  compile.sharding.reset();
  compile.mesh = oneRank(options.sharding.axis);
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(reference, compile);
  if (!program)
    return program.takeError();
  if ((*program)->stage() != Stage::Global)
    return llvm::createStringError(
        llvm::Twine(compile.exposeValues ? "--check=each" : "--check") +
        " needs the module before it was sharded, but " +
        (options.reference.empty() ? "this one" : options.reference) + " is " +
        stageName((*program)->stage()) + "; give it by --reference" +
        (compile.exposeValues ? "" : ", or its results by --check-against"));
  if (llvm::Error error =
          checkArguments(checked.arguments(), (*program)->arguments()))
    return error;
  if (llvm::Error error =
          checkSameResults(ownResults(checked), ownResults(**program)))
    return error;
  return program;
}

llvm::Expected<std::unique_ptr<Expectation>>
Expectation::prepare(mlir::ModuleOp reference, const Options &options,
                     const CompileOptions &compile, const Program &checked) {
  if (options.check != Check::Results && options.checkAgainst.empty())
    return nullptr;
  auto expectation = std::make_unique<Expectation>();
  expectation->specs = checked.results();
  if (options.check == Check::Results) {
    if (ownResults(checked).size() != checked.results().size())
      return llvm::createStringError(
          "the module returns what its ops compute beside its results (it was "
          "made with expose); check it by --check=each");
    auto program = compileReference(reference, options, compile, checked);
    if (!program)
      return program.takeError();
    expectation->reference = std::move(*program);
    return expectation;
  }
  auto stored = storedResults(options.checkAgainst, checked.results());
  if (!stored)
    return stored.takeError();
  expectation->stored = std::move(*stored);
  return expectation;
}

llvm::Expected<ResultsComparison>
Expectation::compare(llvm::ArrayRef<const HostTensor *> inputs,
                     const RunResult &run, const ToleranceOf &toleranceOf) {
  if (!reference)
    return compareResults(specs, run, stored, toleranceOf);
  RunOptions how;
  how.kernels = CPRT_KERNELS_REFERENCE;
  llvm::Expected<RunResult> expected = reference->run(inputs, how);
  if (!expected)
    return llvm::createStringError("the check could not be made: " +
                                   llvm::toString(expected.takeError()));
  return compareResults(specs, run, expected->outputs, toleranceOf);
}

MemoryUse checkNeed(llvm::ArrayRef<TensorSpec> results,
                    const Program *reference) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  // What came, what is expected, errors and magnitudes, as doubles.
  constexpr int64_t copies = 4;
  int64_t largest = 0;
  for (const TensorSpec &spec : results)
    largest =
        std::max(largest, tensorBytes(spec.shape, DType::F64).value_or(most));
  MemoryUse use;
  use.check = largest > most / copies ? most : largest * copies;
  if (!reference)
    return use;
  MemoryUse process = memoryNeed(*reference).process;
  process.weights = process.inputs = 0;
  MemoryUse ofReference;
  ofReference.check = process.total();
  return use + ofReference;
}

} // namespace cp
