//===- StartState.cpp - What the first step of a run finds ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartState.h"

#include "Checkpoint.h"
#include "Inputs.h"
#include "cp/Files/Convert.h"
#include "cp/Transforms/Update.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace cp {

static constexpr llvm::StringRef masterPrefix = "master.";

/// The parameter in a wider type, where the optimizer keeps that: what a step
/// first finds there is what the program computes with.
static llvm::Error setMaster(Session &session,
                             llvm::ArrayRef<TensorSpec> arguments,
                             const TensorSpec &param, const TensorView &view) {
  const auto *master = llvm::find_if(arguments, [&](const TensorSpec &spec) {
    return spec.name == (llvm::Twine(masterPrefix) + param.name).str();
  });
  if (master == arguments.end())
    return llvm::Error::success();
  HostTensor narrow = {param.dtype, param.shape, {}};
  if (llvm::Error error =
          convertElements(view.bytes, view.dtype, param.dtype, param.name)
              .moveInto(narrow.bytes))
    return error;
  return session.set(master->name, TensorView{master->name, narrow.dtype,
                                              narrow.shape, narrow.bytes});
}

static llvm::Error setParameters(Session &session,
                                 llvm::ArrayRef<TensorSpec> arguments,
                                 const RunFlags &run, bool isResumed) {
  std::vector<TensorSpec> params;
  llvm::copy_if(arguments, std::back_inserter(params),
                [](const TensorSpec &spec) { return spec.isParam; });
  auto set = [&](const TensorSpec &spec, const TensorView &view,
                 llvm::function_ref<void()> release) {
    if (isResumed)
      if (llvm::Error error = checkFinite(run.weights, spec, view))
        return error;
    if (llvm::Error error = session.set(spec.name, view, release))
      return error;
    return setMaster(session, arguments, spec, view);
  };
  return gatherInputs(params, run, set).takeError();
}

llvm::Error setStart(Session &session, llvm::ArrayRef<TensorSpec> arguments,
                     const RunFlags &run, const TrainFlags &flags) {
  RunFlags sources = run;
  bool isResumed = !flags.resume.empty();
  if (isResumed)
    sources.weights = weightsOfCheckpoint(flags.resume);
  if (llvm::Error error = setParameters(session, arguments, sources, isResumed))
    return error;
  for (const TensorSpec &spec : arguments) {
    bool isMaster = llvm::StringRef(spec.name).starts_with(masterPrefix);
    if ((!spec.isState && !spec.isAccumulator) || isMaster)
      continue;
    if (llvm::Error error =
            session.set(spec.name, HostTensor::zeros(spec.dtype, spec.shape)))
      return error;
  }
  double clip =
      flags.clip ? flags.clip : std::numeric_limits<double>::infinity();
  return session.set(update::clip, HostTensor::scalar(clip));
}

} // namespace cp
