//===- Launch.cpp - A program of a file on its ranks ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Inputs.h"
#include "Report.h"
#include "RunProgram.h"
#include "Saving.h"
#include "StoredCheck.h"
#include "Trainer.h"
#include "llvm/ADT/STLExtras.h"

namespace cp {
namespace {

/// Whether it is forward and backward apart, or leaves sums to its caller.
bool isForCallers(const Program &program) {
  return llvm::any_of(program.results(), [](const TensorSpec &spec) {
    return spec.isResidual || !spec.layout.partial.empty();
  });
}

llvm::Error checkProgram(const ProgramFile &file,
                         const LaunchOptions &options) {
  const Program &first = *file.programs.front();
  if (llvm::any_of(file.programs,
                   [](const auto &each) { return isForCallers(*each); }))
    return llvm::createStringError(
        "the program is forward and backward apart (--vjp), for who calls it "
        "(cprt_program.h, cp_mlir.load); compile it without");
  bool updates = llvm::any_of(first.arguments(),
                              [](const TensorSpec &spec) {
                                return spec.isState || spec.isAccumulator;
                              }) ||
                 hasName(first.results(), "grad_norm");
  if (updates && !options.trains)
    return llvm::createStringError(
        "the program makes steps of an optimizer; give --train, and --data to "
        "train on");
  int64_t ranks = first.mesh().numRanks();
  if (options.ranks && *options.ranks != ranks)
    return llvm::createStringError(
        "--ranks=" + std::to_string(*options.ranks) +
        ", but the program was compiled for the " + std::to_string(ranks) +
        " ranks of '" + meshText(first.mesh()) +
        "'; start as many, or compile it for others");
  if (!options.run.job)
    return llvm::Error::success();
  return options.run.job->checkSize(first.mesh());
}

/// What could not be done in the end is told now.
llvm::Error checkRun(const Program &program, const RunFlags &flags) {
  if (llvm::Error error = checkOutputs(flags))
    return error;
  if (llvm::Error error = checkNames(flags, program))
    return error;
  return checkMemory(needHere(memoryNeed(program), flags), flags);
}

/// Holds the results against those of the file that --check-against names; what
/// is too far, and why the check could not be made, stands in the report too.
llvm::Error checkStored(const RunFlags &flags, Report &report) {
  if (flags.checkAgainst.empty())
    return llvm::Error::success();
  say(flags, "checking against " + flags.checkAgainst);
  llvm::ArrayRef<TensorSpec> specs = report.program.results();
  auto failed = [&](llvm::Error error) {
    report.checkError = llvm::toString(std::move(error));
    return llvm::createStringError(report.checkError);
  };
  auto stored = storedResults(flags.checkAgainst, specs);
  if (!stored)
    return failed(stored.takeError());
  llvm::Expected<ResultsComparison> comparison = compareResults(
      specs, report.run, *stored, toleranceOf(flags, &report.program));
  if (!comparison)
    return failed(comparison.takeError());
  report.check = comparison->worst;
  return checkNear(*comparison, specs);
}

llvm::Error runForward(const ProgramFile &file, const RunFlags &flags) {
  const Program &program = *file.programs.front();
  auto how = runOptions(flags, program.mesh().numRanks());
  if (!how)
    return how.takeError();
  llvm::Expected<std::unique_ptr<Session>> session =
      Session::create({&program}, *how);
  if (!session)
    return session.takeError();
  if (llvm::Error error = checkRun(program, flags))
    return tell(**session, std::move(error));
  llvm::Expected<ProgramRun> run =
      runProgram(program, flags, *how, std::move(*session),
                 /*checks=*/!flags.checkAgainst.empty());
  if (!run)
    return run.takeError();
  Report report{flags, file.origin, *how, program, std::move(run->result),
                {},    {},          ""};
  llvm::Error errors =
      saveRun(program, flags, *run, report.run.outputs, report.numbers);
  if (!flags.speaks())
    return errors;
  warnOf(report.numbers.notFinite, flags.tool, llvm::errs());
  errors = llvm::joinErrors(std::move(errors), checkStored(flags, report));
  if (!flags.report.empty())
    errors = llvm::joinErrors(std::move(errors),
                              writeJson(flags.report, toJson(report)));
  if (!flags.quiet)
    printTable(report, llvm::outs());
  // Before the error, wherever the two go.
  llvm::outs().flush();
  return errors;
}

} // namespace

llvm::Error launch(ProgramFile file, const LaunchOptions &options) {
  if (llvm::Error error = checkProgram(file, options))
    return error;
  RunFlags flags = options.run;
  const Program &first = *file.programs.front();
  flags.hasLoss =
      hasName(first.arguments(), "labels") && hasName(first.results(), "loss");
  if (!options.trains) {
    if (!flags.hasLoss && !flags.labels.empty())
      return llvm::createStringError(
          "--labels is for a loss, and the program has none; compile it with "
          "--loss=next_token");
    return runForward(file, flags);
  }
  llvm::Expected<StepPrograms> step =
      StepPrograms::of(std::move(file.programs));
  if (!step)
    return step.takeError();
  return trainSteps(*step, flags, options.train);
}

} // namespace cp
