//===- Trainer.cpp - A model, its data and its steps ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"

#include "Checkpoint.h"
#include "Inputs.h"
#include "Requests.h"
#include "Saving.h"
#include "TokenData.h"
#include "cp/Execution/Session.h"
#include "cp/Files/Convert.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <limits>

using llvm::StringRef;

namespace cp {
namespace {

HostTensor scalar(DType dtype, const void *value) {
  HostTensor tensor = HostTensor::zeros(dtype, {});
  std::memcpy(tensor.bytes.data(), value, tensor.bytes.size());
  return tensor;
}

class Trainer {
public:
  Trainer(Program &program, const TrainOptions &options)
      : program(program), options(options) {}

  llvm::Error run() {
    if (llvm::Error error = open())
      return error;
    first = progress.steps;
    while (progress.steps < options.steps) {
      if (llvm::Error error = runStep(progress.steps))
        return error;
      ++progress.steps;
      checkpoint();
    }
    return save();
  }

private:
  //===--------------------------------------------------------------------===//
  // In front of the first step
  //===--------------------------------------------------------------------===//

  llvm::Error open() {
    if (llvm::Error error = checkFiles())
      return error;
    if (llvm::Error error = openData())
      return error;
    if (llvm::Error error =
            Session::create({&program},
                            runOptions(options.run, program.mesh().numRanks()))
                .moveInto(session))
      return error;
    if (llvm::Error error = setParameters())
      return error;
    if (!options.resume.empty())
      if (llvm::Error error = readOptimizer(options.resume, program, *session)
                                  .moveInto(progress))
        return error;
    return openCsv();
  }

  /// What could not be written in the end is told now.
  llvm::Error checkFiles() {
    Options files = options.run;
    files.inputs = options.data;
    files.saveWeights = options.saveWeights;
    files.report = options.csv;
    return checkOutputs(files);
  }

  llvm::Error openData() {
    const auto *labels =
        llvm::find_if(program.arguments(), [](const TensorSpec &spec) {
          return !spec.isParam && spec.name == "labels";
        });
    const auto *ids =
        llvm::find_if(program.arguments(), [&](const TensorSpec &spec) {
          return !spec.isParam && &spec != labels && spec.dtype == DType::I32 &&
                 spec.shape == labels->shape;
        });
    if (ids == program.arguments().end())
      return llvm::createStringError(
          "the model takes no i32 ids of the labels' shape; import it by "
          "cp-translate");
    idsName = ids->name;
    auto below = ids->init ? ids->init.getAs<mlir::IntegerAttr>("below")
                           : mlir::IntegerAttr();
    return TokenData::read(options.data, ids->shape[0], ids->shape[1],
                           below ? below.getInt() : 0)
        .moveInto(data);
  }

  /// Parameters as cp-run has them, and what an optimizer keeps: masters are
  /// parameters, moments are zero.
  llvm::Error setParameters() {
    std::vector<TensorSpec> params;
    for (const TensorSpec &spec : program.arguments())
      if (spec.isParam)
        params.push_back(spec);
    Options sources = options.run;
    if (!options.resume.empty())
      sources.weights = weightsOfCheckpoint(options.resume);
    llvm::Expected<std::vector<HostTensor>> tensors =
        gatherInputs(params, sources);
    if (!tensors)
      return tensors.takeError();
    for (auto [spec, tensor] : llvm::zip_equal(params, *tensors))
      if (llvm::Error error = session->set(spec.name, tensor))
        return error;
    for (const TensorSpec &spec : program.arguments()) {
      if (!spec.isState)
        continue;
      HostTensor kept = HostTensor::zeros(spec.dtype, spec.shape);
      if (StringRef name = spec.name; name.consume_front("master.")) {
        auto param = llvm::find_if(
            params, [&](const TensorSpec &of) { return of.name == name; });
        const HostTensor &tensor = (*tensors)[param - params.begin()];
        if (llvm::Error error = convertElements(tensor.bytes, tensor.dtype,
                                                spec.dtype, spec.name)
                                    .moveInto(kept.bytes))
          return error;
      }
      if (llvm::Error error = session->set(spec.name, kept))
        return error;
    }
    double clip =
        options.clip ? options.clip : std::numeric_limits<double>::infinity();
    return session->set(update::clip, scalar(DType::F64, &clip));
  }

  llvm::Error openCsv() {
    if (options.csv.empty())
      return llvm::Error::success();
    std::error_code code;
    csv = std::make_unique<llvm::raw_fd_ostream>(options.csv, code);
    if (code)
      return llvm::createStringError(options.csv + ": " + code.message());
    *csv << "step,loss,grad_norm,tokens_per_second,peak_bytes\n";
    return llvm::Error::success();
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  llvm::Error setStep(int64_t step) {
    Batch batch = data->at(step);
    if (llvm::Error error = session->set(idsName, batch.ids))
      return error;
    if (llvm::Error error = session->set("labels", batch.labels))
      return error;
    double rate = options.rate;
    if (step < options.warmup)
      rate *= double(step + 1) / double(options.warmup);
    if (llvm::Error error =
            session->set(update::rate, scalar(DType::F64, &rate)))
      return error;
    if (options.update.optimizer != Optimizer::Adamw)
      return llvm::Error::success();
    int64_t number = progress.taken + 1;
    return session->set(update::step, scalar(DType::I64, &number));
  }

  llvm::Expected<double> number(StringRef name) {
    llvm::Expected<HostTensor> tensor = session->result(name);
    if (!tensor)
      return tensor.takeError();
    return tensor->asDoubles().front();
  }

  llvm::Error runStep(int64_t step) {
    if (llvm::Error error = setStep(step))
      return error;
    if (llvm::Error error = session->step())
      return error;
    llvm::Expected<double> loss = number("loss");
    if (!loss)
      return loss.takeError();
    llvm::Expected<double> norm = number(update::gradNorm);
    if (!norm)
      return norm.takeError();
    report(step, *loss, *norm);
    return llvm::Error::success();
  }

  void report(int64_t step, double loss, double norm) {
    // Steps that changed nothing do not count.
    if (std::isfinite(norm))
      ++progress.taken;
    else
      llvm::errs() << "cp-train: warning: step " << step + 1
                   << ": the norm of the gradients is " << norm
                   << ", so this step changed nothing\n";
    double perSecond =
        double(data->tokensOfBatch()) / std::max(session->seconds(), 1e-9);
    seconds += session->seconds();
    int64_t left = std::llround(seconds / double(step + 1 - first) *
                                double(options.steps - step - 1));
    if (!options.run.quiet)
      llvm::outs() << "step " << step + 1 << "/" << options.steps
                   << llvm::format("  loss %.4f  norm %.4f  %.0f tokens/s",
                                   loss, norm, perSecond)
                   << llvm::format("  %lld:%02lld left\n",
                                   (long long)(left / 60),
                                   (long long)(left % 60));
    if (csv)
      *csv << step + 1 << ","
           << llvm::format("%.17g,%.17g,%.1f,", loss, norm, perSecond)
           << *llvm::max_element(session->peakBytesPerRank()) << "\n";
    // Who watches a pipe or a file sees each step.
    llvm::outs().flush();
    if (csv)
      csv->flush();
  }

  /// One that cannot be written does not end the run.
  void checkpoint() {
    bool isDue = options.every && progress.steps % options.every == 0;
    if (options.checkpoint.empty() ||
        !(isDue || progress.steps == options.steps))
      return;
    if (llvm::Error error =
            writeCheckpoint(options.checkpoint, progress, program, *session))
      llvm::errs() << "cp-train: warning: no checkpoint of step "
                   << progress.steps << ": " << llvm::toString(std::move(error))
                   << "; the run goes on\n";
  }

  //===--------------------------------------------------------------------===//
  // Behind the last step
  //===--------------------------------------------------------------------===//

  llvm::Error save() {
    if (csv) {
      csv->close();
      if (csv->has_error()) {
        std::error_code code = csv->error();
        csv->clear_error();
        return llvm::createStringError(options.csv + ": " + code.message());
      }
    }
    if (options.saveWeights.empty())
      return llvm::Error::success();
    std::vector<HostTensor> tensors;
    for (const TensorSpec &spec : program.arguments()) {
      tensors.emplace_back();
      if (!spec.isParam)
        continue;
      if (llvm::Error error = session->get(spec.name).moveInto(tensors.back()))
        return error;
    }
    return writeSafetensors(
        options.saveWeights,
        viewsOf(program.arguments(), tensors, /*paramsOnly=*/true),
        {{"format", "pt"}});
  }

  Program &program;
  const TrainOptions &options;
  std::unique_ptr<Session> session;
  std::optional<TokenData> data;
  std::string idsName;
  std::unique_ptr<llvm::raw_fd_ostream> csv;
  Progress progress;
  /// Steps of the run that this one goes on with.
  int64_t first = 0;
  double seconds = 0;
};

} // namespace

llvm::Error trainModel(mlir::ModuleOp module, const TrainOptions &options) {
  if (llvm::Error error = checkTrainOptions(options))
    return error;
  llvm::Expected<CompileOptions> compile = compileOptions(module, options.run);
  if (!compile)
    return compile.takeError();
  compile->update = options.update;
  llvm::Expected<std::unique_ptr<Program>> program =
      Program::compile(module, *compile);
  if (!program)
    return program.takeError();
  return Trainer(**program, options).run();
}

} // namespace cp
