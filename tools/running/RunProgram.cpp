//===- RunProgram.cpp - A program on its arguments --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunProgram.h"

#include "cp/Execution/Session.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

void say(const RunFlags &flags, const llvm::Twine &what) {
  if (!flags.quiet)
    llvm::errs() << flags.tool << ": " << what << "\n";
}

/// Sets all arguments. The ranks of one process share what each has whole.
static llvm::Expected<Inputs> setArguments(const Program &program,
                                           const RunFlags &flags,
                                           bool keepsWeights,
                                           Session &session) {
  say(flags, flags.weights.empty()
                 ? "drawing weights from seed " + std::to_string(flags.seed)
                 : "reading " + flags.weights);
  auto take = [&](const TensorSpec &spec, const TensorView &view) {
    return session.set(spec.name, view);
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

llvm::Expected<ProgramRun> runProgram(const Program &program,
                                      const RunFlags &flags,
                                      const RunOptions &how,
                                      bool keepsWeights) {
  llvm::Expected<std::unique_ptr<Session>> session =
      Session::create({&program}, how);
  if (!session)
    return session.takeError();
  bool keepsAll = keepsWeights || !flags.saveWeights.empty();
  llvm::Expected<Inputs> inputs =
      setArguments(program, flags, keepsAll, **session);
  if (!inputs)
    return inputs.takeError();
  int64_t ranks = program.mesh().numRanks();
  say(flags, "running on " + std::to_string(ranks) +
                 (ranks == 1 ? " rank" : " ranks") + " over " +
                 (flags.job ? flags.job->name() : "threads"));
  llvm::Expected<RunResult> result =
      (*session)->run(how.repeats, how.keepParts);
  if (!result)
    return result.takeError();
  return ProgramRun{std::move(*inputs), std::move(*result)};
}

} // namespace cp
