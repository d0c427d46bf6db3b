//===- RunProgram.cpp - A program on its arguments --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunProgram.h"

#include "Saving.h"
#include "Training.h"
#include "WriteTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

void say(const RunFlags &flags, const llvm::Twine &what) {
  if (!flags.quiet)
    llvm::errs() << flags.tool << ": " << what << "\n";
}

llvm::Error tell(Session &session, llvm::Error error) {
  std::string why = llvm::toString(std::move(error));
  session.fail(why);
  return llvm::createStringError(why);
}

/// Sets all arguments. The ranks of one process share what each has whole.
static llvm::Expected<Inputs> setArguments(const Program &program,
                                           const RunFlags &flags,
                                           bool keepsWeights,
                                           Session &session) {
  say(flags, flags.weights.empty()
                 ? "drawing weights from seed " + std::to_string(flags.seed)
                 : "reading " + flags.weights);
  auto take = [&](const TensorSpec &spec, const TensorView &view,
                  llvm::function_ref<void()> release) {
    return session.set(spec.name, view, release);
  };
  bool takesSlices = flags.job && !keepsWeights;
  llvm::Expected<Inputs> inputs = gatherInputs(
      program.arguments(), flags, takesSlices ? ParameterSink(take) : nullptr);
  if (!inputs)
    return inputs.takeError();
  for (auto [spec, tensor] :
       llvm::zip_equal(program.arguments(), inputs->tensors))
    if (!spec.isParam || !takesSlices)
      if (llvm::Error error = session.share(spec.name, tensor))
        return error;
  return inputs;
}

/// A loss over no tokens is 0, which looks like a good one, and one of ids that
/// nobody shifted is of the tokens themselves.
static void checkLabels(const Program &program, const RunFlags &flags,
                        const Inputs &inputs) {
  auto warn = [&](llvm::StringRef what) {
    llvm::errs() << flags.tool << ": warning: " << what << "\n";
  };
  const TensorSpec *tokens = RowBatch::tokensOf(program.arguments());
  for (auto [spec, tensor] :
       llvm::zip_equal(program.arguments(), inputs.tensors)) {
    if (!flags.speaks() || !isLabels(spec, flags) || spec.dtype != DType::I32)
      continue;
    if (!hasLabel(tensor))
      warn("no token has a label, so there is no loss");
    else if (tokens && tokens != &spec &&
             areTokens(
                 tensor,
                 inputs.tensors[size_t(tokens - program.arguments().begin())]))
      warn(unshiftedText);
  }
}

/// What a program of --last-token gives is of the last place of each of its
/// rows: of no token where padding is there, and of several documents one's.
static llvm::Error checkLastTokens(const Program &program,
                                   const RowBatch &rows) {
  std::optional<RowBatch::Shape> shape =
      RowBatch::shapeFor(program.arguments());
  const auto *last = llvm::find_if(program.results(), [&](const auto &spec) {
    return shape && shape->length > 1 && !isGradient(spec) &&
           spec.shape.size() == 3 && spec.shape[0] == shape->rows &&
           spec.shape[1] == 1;
  });
  if (last == program.results().end())
    return llvm::Error::success();
  for (auto [row, documents] : llvm::enumerate(rows.documents()))
    if (documents.size() != 1 || documents.front().tokens != shape->length)
      return llvm::createStringError(
          "--rows: '" + last->name +
          "' has one place a row, as with --last-token, and row " +
          llvm::Twine(row) + " does not fill its " +
          llvm::Twine(shape->length) +
          " places with one document, so that the last one may be padding; "
          "make "
          "a program whose results have all places, or of the rows' length");
  return llvm::Error::success();
}

/// Whether all that ranks have is needed whole. The ranks of one process have
/// it in one memory anyway.
static bool needsWhole(const RunFlags &flags, bool checks) {
  return !flags.job || checks || !flags.rows.empty() ||
         !flags.gradients.empty();
}

llvm::Expected<ProgramRun>
runProgram(const Program &program, const RunFlags &flags, const RunOptions &how,
           std::unique_ptr<Session> session, bool checks) {
  bool gathers = needsWhole(flags, checks);
  llvm::Expected<Inputs> inputs =
      setArguments(program, flags, gathers, *session);
  if (!inputs)
    return tell(*session, inputs.takeError());
  checkLabels(program, flags, *inputs);
  if (inputs->rows)
    if (llvm::Error error = checkLastTokens(program, *inputs->rows))
      return tell(*session, std::move(error));
  int64_t ranks = program.mesh().numRanks();
  say(flags, "running on " + std::to_string(ranks) +
                 (ranks == 1 ? " rank" : " ranks") + " over " +
                 (flags.job ? flags.job->name() : "threads"));
  llvm::Expected<RunResult> result =
      session->run(how.repeats, checks    ? Session::Gather::Parts
                                : gathers ? Session::Gather::Results
                                          : Session::Gather::Nothing);
  if (!result)
    return result.takeError();
  return ProgramRun{std::move(*inputs), std::move(*result), std::move(session),
                    gathers};
}

llvm::Error saveRun(const Program &program, const RunFlags &flags,
                    const ProgramRun &run, llvm::ArrayRef<HostTensor> outputs,
                    ResultNumbers &numbers) {
  if (run.isWhole) {
    if (!flags.speaks())
      return llvm::Error::success();
    numbers = numbersOf(program.results(), outputs);
    return saveTensors(flags, program, run.inputs, outputs);
  }
  llvm::Error errors = llvm::Error::success();
  if (!flags.saveWeights.empty())
    errors = writeArguments(
                 flags.saveWeights, program.arguments(),
                 [](const TensorSpec &spec) { return spec.isParam; }, {},
                 *run.session, flags.speaks())
                 .takeError();
  return llvm::joinErrors(
      std::move(errors),
      writeResults(flags.outputs, program, *run.session, flags.speaks())
          .moveInto(numbers));
}

} // namespace cp
