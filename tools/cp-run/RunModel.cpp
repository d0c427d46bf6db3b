//===- RunModel.cpp - A run from inputs to report -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunModel.h"

#include "Check.h"
#include "CheckEach.h"
#include "Report.h"
#include "Requests.h"
#include "RunProgram.h"
#include "Saving.h"
#include "Settings.h"
#include "StoredCheck.h"
#include "cp/Compile/Origin.h"
#include "cp/Execution/Memory.h"
#include "llvm/ADT/StringExtras.h"

#include <functional>

using namespace mlir;

namespace cp {
namespace {

/// What stands before weights are drawn.
struct Prepared {
  std::unique_ptr<Program> program;
  /// Null without a check.
  std::unique_ptr<Expectation> expectation;
  /// In a job, where the others would wait for the one that checks: makes it
  /// behind the run.
  std::function<llvm::Expected<std::unique_ptr<Expectation>>()> expectLater;
};

llvm::Expected<Prepared> prepare(ModuleOp module, ModuleOp reference,
                                 const Options &options,
                                 const CompileOptions &compile) {
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(module, compile);
  if (!program)
    return program.takeError();
  if (llvm::Error error = checkNames(options, **program))
    return error;
  auto expect = [reference, &options, &compile, checked = program->get()] {
    return Expectation::prepare(reference, options, compile, *checked);
  };
  std::unique_ptr<Expectation> expectation;
  if (!options.job)
    if (llvm::Error error = expect().moveInto(expectation))
      return error;
  MemoryUse needed = needHere(memoryNeed(**program), options);
  if (expectation)
    needed = needed + expectation->memory();
  if (llvm::Error error = checkMemory(needed, options))
    return error;
  Prepared prepared = {std::move(*program), std::move(expectation), {}};
  if (options.job)
    prepared.expectLater = expect;
  return prepared;
}

/// Holds the results against what is expected; what is too far, and why the
/// check could not be made, is returned and stands in the report.
llvm::Error checkResults(Expectation &expectation, const Options &options,
                         llvm::ArrayRef<const HostTensor *> inputs,
                         Report &report) {
  llvm::Expected<ResultsComparison> comparison = expectation.compare(
      inputs, report.run, toleranceOf(options, &report.program));
  if (!comparison) {
    report.checkError = llvm::toString(comparison.takeError());
    return llvm::createStringError(report.checkError);
  }
  report.check = comparison->worst;
  return checkNear(*comparison, report.program.results());
}

/// Saves results, checks them, and reports; goes on after an error, and returns
/// all.
llvm::Error finish(Prepared &prepared, const Options &options,
                   const ProgramRun &run, Report &report) {
  llvm::Error errors =
      saveRun(report.program, options, run, report.run.outputs, report.numbers);
  if (!options.speaks())
    return errors;
  warnOf(report.numbers.notFinite, options.tool, llvm::errs());
  if (prepared.expectLater)
    errors =
        llvm::joinErrors(std::move(errors),
                         prepared.expectLater().moveInto(prepared.expectation));
  if (prepared.expectation) {
    say(options, options.checkAgainst.empty()
                     ? "checking on reference kernels"
                     : "checking against " + options.checkAgainst);
    errors = llvm::joinErrors(std::move(errors),
                              checkResults(*prepared.expectation, options,
                                           run.inputs.pointers(), report));
  }
  if (!options.report.empty())
    errors = llvm::joinErrors(std::move(errors),
                              writeJson(options.report, toJson(report)));
  if (!options.quiet)
    printTable(report, llvm::outs());
  // Before the error, wherever the two go.
  llvm::outs().flush();
  return errors;
}

llvm::Error runPrepared(Prepared &prepared, const Options &options,
                        const CompileOptions &compile) {
  const Program &program = *prepared.program;
  auto how = runOptions(options, program.mesh().numRanks());
  if (!how)
    return how.takeError();
  how->settings = addSetting(how->settings, double(options.check));
  bool checks = options.check != Check::None || !options.checkAgainst.empty();
  llvm::Expected<std::unique_ptr<Session>> session =
      Session::create({&program}, *how);
  if (!session)
    return session.takeError();
  // Others would wait for one that ends before it has joined.
  if (options.job)
    if (llvm::Error error = checkOutputs(options))
      return tell(**session, std::move(error));
  llvm::Expected<ProgramRun> run =
      runProgram(program, options, *how, std::move(*session), checks);
  if (!run)
    return run.takeError();
  Report report{options,
                originOf(program.stage(), compile),
                *how,
                program,
                std::move(run->result),
                {},
                {},
                ""};
  return finish(prepared, options, *run, report);
}

} // namespace

llvm::Error runModel(ModuleOp module, ModuleOp reference,
                     const Options &options) {
  llvm::Expected<CompileOptions> compile = compileOptions(module, options);
  if (!compile)
    return compile.takeError();
  if (!options.job)
    if (llvm::Error error = checkOutputs(options))
      return error;
  if (options.check == Check::Each)
    return checkEach(module, reference, options, *compile);
  say(options, "compiling");
  llvm::Expected<Prepared> prepared =
      prepare(module, reference, options, *compile);
  if (!prepared)
    return prepared.takeError();
  return runPrepared(*prepared, options, *compile);
}

} // namespace cp
