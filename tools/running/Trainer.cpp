//===- Trainer.cpp - A model, its data and its steps ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"

#include "Checkpoint.h"
#include "Curve.h"
#include "DataSource.h"
#include "RunProgram.h"
#include "Saving.h"
#include "Settings.h"
#include "StartState.h"
#include "StepPrograms.h"
#include "Timeline.h"
#include "WriteTensors.h"
#include "cp/Execution/Session.h"
#include "cp/Transforms/Update.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using llvm::StringRef;

namespace cp {
namespace {

class Trainer {
public:
  Trainer(const StepPrograms &programs, const RunFlags &how,
          const TrainFlags &options)
      : programs(programs), how(how), options(options) {}

  llvm::Error run() {
    if (llvm::Error error = open())
      return error;
    first = progress.steps;
    if (first >= options.steps && how.speaks())
      llvm::errs() << how.tool << ": " << options.resume << " is of step "
                   << first << " of " << options.steps
                   << ", so there is no step to make; give more --steps\n";
    while (progress.steps < options.steps) {
      if (llvm::Error error = runStep(progress.steps))
        return error;
      ++progress.steps;
      if (llvm::Error error = checkpoint())
        return error;
    }
    return save();
  }

private:
  //===--------------------------------------------------------------------===//
  // In front of the first step
  //===--------------------------------------------------------------------===//

  llvm::Error open() {
    std::vector<const Program *> all;
    for (const auto &program : programs.programs)
      all.push_back(program.get());
    auto run = runOptions(how, programs.first().mesh().numRanks());
    if (!run)
      return run.takeError();
    if (how.job)
      if (llvm::Error error =
              addSettings(run->settings).moveInto(run->settings))
        return error;
    if (llvm::Error error = Session::create(all, *run).moveInto(session))
      return error;
    llvm::Error error = prepare();
    return error ? tell(*session, std::move(error)) : llvm::Error::success();
  }

  llvm::Error prepare() {
    if (llvm::Error error = checkMemory(needHere(programs.memory(), how), how))
      return error;
    if (llvm::Error error = checkTargets())
      return error;
    if (llvm::Error error =
            openData(programs.arguments, how, options).moveInto(source))
      return error;
    if (llvm::Error error =
            setStart(*session, programs.arguments, how, options))
      return error;
    if (!options.resume.empty())
      if (llvm::Error error = resume())
        return error;
    if (how.speaks())
      if (llvm::Error error =
              claimCheckpoints(options.checkpoint, options.resume,
                               [&](int64_t step) {
                                 return step > progress.steps && isDue(step);
                               })
                  .moveInto(found))
        return error;
    if (options.csv.empty() || !how.speaks())
      return llvm::Error::success();
    return Curve::open(options.csv, progress.steps).moveInto(curve);
  }

  llvm::Error resume() {
    if (llvm::Error error =
            readOptimizer(options.resume, programs.arguments, *session)
                .moveInto(progress))
      return error;
    if (progress.lastBatch.empty() || progress.batches == 0 || !how.speaks())
      return llvm::Error::success();
    llvm::Expected<Batch> last = source.data->at(progress.batches - 1);
    if (!last)
      return last.takeError();
    if (digestOf(*last) != progress.lastBatch)
      llvm::errs() << how.tool << ": warning: batch " << progress.batches - 1
                   << " of the data is another one than that of "
                   << options.resume
                   << "; give the --data, --shuffle, --seed and sizes of that "
                      "run, or it goes on with other tokens\n";
    return llvm::Error::success();
  }

  llvm::Expected<uint64_t> addSettings(uint64_t settings) const {
    for (double number :
         {double(options.steps), double(options.accumulate), options.rate,
          double(options.warmup), options.clip, double(options.shuffle),
          double(options.documentEnd.value_or(-1)), double(options.every),
          double(options.checkpoint.empty()), double(options.csv.empty()),
          double(options.resume.empty())})
      settings = addSetting(settings, number);
    std::vector<NamedFile> files = resumedFiles();
    files.push_back({"--data", options.data});
    return addFiles(settings, files);
  }

  /// Those of the checkpoint from which the run goes on.
  std::vector<NamedFile> resumedFiles() const {
    std::vector<NamedFile> files;
    if (!options.resume.empty())
      for (const std::string &file : filesOfCheckpoint(options.resume))
        files.push_back({"--resume", file});
    return files;
  }

  /// What could not be written in the end is told now.
  llvm::Error checkTargets() {
    if (!how.speaks())
      return checkOutputs(how);
    std::vector<NamedFile> inputs = inputsOf(how);
    inputs.push_back({"--data", options.data});
    llvm::append_range(inputs, resumedFiles());
    if (llvm::Error error =
            checkFiles({{"--save-weights", how.saveWeights},
                        {"--timeline", timelineFile(how), true},
                        {"--csv", options.csv, /*takesDevices=*/true}},
                       inputs))
      return error;
    return checkCheckpoints(options.checkpoint);
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  llvm::Error setScalars(int64_t step) {
    double rate = options.rate;
    if (step < options.warmup)
      rate *= double(step + 1) / double(options.warmup);
    if (llvm::Error error =
            session->set(update::rate, HostTensor::scalar(rate)))
      return error;
    if (!countsSteps)
      return llvm::Error::success();
    return session->set(update::step, HostTensor::scalar(progress.taken + 1));
  }

  /// One batch more of a step.
  llvm::Error runBatch(int64_t microBatch) {
    Batch batch;
    if (llvm::Error error = source.data->at(progress.batches++).moveInto(batch))
      return error;
    if (!options.checkpoint.empty())
      progress.lastBatch = digestOf(batch);
    if (llvm::Error error = session->set(source.ids, batch.ids))
      return error;
    if (llvm::Error error = session->set("labels", batch.labels))
      return error;
    hasLabels |= hasLabel(batch.labels);
    if (!toldOfTokens && how.speaks() && areTokens(batch.labels, batch.ids)) {
      llvm::errs() << how.tool << ": warning: " << unshiftedText << "\n";
      toldOfTokens = true;
    }
    if (batch.documents.numElements())
      if (llvm::Error error = session->set(source.documents, batch.documents))
        return error;
    if (programs.accumulate())
      if (llvm::Error error =
              session->set(update::microBatch, HostTensor::scalar(microBatch)))
        return error;
    if (llvm::Error error = session->step())
      return error;
    stepSeconds += session->seconds();
    return llvm::Error::success();
  }

  llvm::Expected<double> number(StringRef name) {
    llvm::Expected<HostTensor> tensor = session->result(name);
    if (!tensor)
      return tensor.takeError();
    return tensor->asDoubles().front();
  }

  llvm::Error runStep(int64_t step) {
    if (llvm::Error error = setScalars(step))
      return error;
    stepSeconds = 0;
    hasLabels = false;
    for (int64_t i = 0; i < options.accumulate; ++i)
      if (llvm::Error error = runBatch(i))
        return error;
    if (programs.accumulate()) {
      if (llvm::Error error = session->step(1))
        return error;
      stepSeconds += session->seconds();
    }
    llvm::Expected<double> loss = number("loss");
    if (!loss)
      return loss.takeError();
    llvm::Expected<double> norm = number(update::gradNorm);
    if (!norm)
      return norm.takeError();
    return report(step, *loss, *norm);
  }

  llvm::Error report(int64_t step, double loss, double norm) {
    // Steps that changed nothing do not count.
    if (std::isfinite(norm))
      ++progress.taken;
    else if (how.speaks())
      llvm::errs() << how.tool << ": warning: step " << step + 1
                   << ": the norm of the gradients is " << norm
                   << ", so this step changed nothing\n";
    if (!hasLabels && how.speaks())
      llvm::errs() << how.tool << ": warning: step " << step + 1
                   << ": no token has a label, so this step has no loss\n";
    double perSecond =
        double(source.data->tokensOfBatch() * options.accumulate) /
        std::max(stepSeconds, 1e-9);
    seconds += stepSeconds;
    int64_t left = std::llround(seconds / double(step + 1 - first) *
                                double(options.steps - step - 1));
    if (!how.quiet)
      llvm::outs() << "step " << step + 1 << "/" << options.steps
                   << llvm::format("  loss %.4f  norm %.4f  %.0f tokens/s",
                                   loss, norm, perSecond)
                   << llvm::format("  %lld:%02lld left\n",
                                   (long long)(left / 60),
                                   (long long)(left % 60));
    llvm::outs().flush();
    if (options.csv.empty())
      return llvm::Error::success();
    llvm::Expected<std::vector<int64_t>> peaks = session->peakBytesPerRank();
    if (!peaks)
      return peaks.takeError();
    if (curve)
      curve->add(step + 1, loss, norm, perSecond, *llvm::max_element(*peaks));
    return llvm::Error::success();
  }

  void tellNotFinite(const std::string &where,
                     llvm::ArrayRef<NotFiniteResult> found) {
    if (!found.empty())
      llvm::errs() << how.tool << ": warning: " << where << ": " << found.size()
                   << (found.size() == 1 ? " tensor has" : " tensors have")
                   << " elements that are not finite, the first one '"
                   << found.front().name << "'; take a smaller --lr\n";
  }

  /// Whether the run writes a checkpoint behind that step.
  bool isDue(int64_t step) const {
    return step == options.steps ||
           (options.every && step < options.steps && step % options.every == 0);
  }

  /// One that cannot be written does not end the run, but for the last; a rank
  /// that is gone does.
  llvm::Error checkpoint() {
    bool isLast = progress.steps == options.steps;
    if (options.checkpoint.empty() || !isDue(progress.steps))
      return llvm::Error::success();
    auto notFinite =
        writeCheckpoint(options.checkpoint, progress, found, programs.arguments,
                        *session, how.speaks());
    if (notFinite) {
      tellNotFinite("the checkpoint of step " + std::to_string(progress.steps),
                    *notFinite);
      return llvm::Error::success();
    }
    llvm::Error error = notFinite.takeError();
    std::string why = "no checkpoint of step " +
                      std::to_string(progress.steps) + ": " +
                      llvm::toString(std::move(error));
    if (llvm::Error failed = session->check())
      return failed;
    if (isLast)
      missing = why;
    else
      llvm::errs() << how.tool << ": warning: " << why << "; the run goes on\n";
    return llvm::Error::success();
  }

  //===--------------------------------------------------------------------===//
  // Behind the last step
  //===--------------------------------------------------------------------===//

  llvm::Error save() {
    llvm::Error errors = curve ? curve->close() : llvm::Error::success();
    errors = llvm::joinErrors(std::move(errors), saveWeights());
    if (missing.empty())
      return errors;
    return llvm::joinErrors(std::move(errors),
                            llvm::createStringError(missing));
  }

  /// All processes gather them.
  llvm::Error saveWeights() {
    if (how.saveWeights.empty())
      return llvm::Error::success();
    auto notFinite = writeWeights(how.saveWeights, progress, programs.arguments,
                                  *session, how.speaks());
    if (!notFinite)
      return notFinite.takeError();
    tellNotFinite(how.saveWeights, *notFinite);
    return llvm::Error::success();
  }

  const StepPrograms &programs;
  /// Whether its optimizer goes by the number of the step.
  bool countsSteps = hasName(programs.arguments, update::step);
  const RunFlags &how;
  const TrainFlags &options;
  std::unique_ptr<Session> session;
  DataSource source;
  bool toldOfTokens = false;
  std::optional<Curve> curve;
  Progress progress;
  /// Steps whose checkpoints were there when the run began.
  std::vector<int64_t> found;
  /// Why the last checkpoint could not be written, if it could not.
  std::string missing;
  /// Steps of the run that this one goes on with.
  int64_t first = 0;
  /// Whether a batch of the step has one.
  bool hasLabels = false;
  /// Of the step, and of all.
  double stepSeconds = 0, seconds = 0;
};

} // namespace

llvm::Error trainSteps(const StepPrograms &programs, const RunFlags &run,
                       const TrainFlags &flags) {
  if (flags.accumulate > 1 && !programs.accumulate())
    return llvm::createStringError(
        "--accumulate=" + std::to_string(flags.accumulate) +
        " sums gradients over batches, and the program makes a step of each; "
        "compile it with --accumulate too");
  return Trainer(programs, run, flags).run();
}

} // namespace cp
