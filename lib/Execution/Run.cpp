//===- Run.cpp - Running a program on threads -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"

#include "llvm/ADT/STLExtras.h"

namespace cp {

llvm::StringRef stageName(Stage stage) {
  switch (stage) {
  case Stage::Global:
    return "global";
  case Stage::WithLayouts:
    return "with layouts";
  case Stage::Local:
    return "local";
  }
  return "unknown";
}

/// By rank, then by result.
llvm::Error Session::Impl::keepParts(RunResult &result) {
  result.parts.resize(size_t(world->numRanks()));
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    llvm::Expected<std::vector<HostTensor>> parts = partsOfResult(i);
    if (!parts)
      return parts.takeError();
    for (auto [of, part] : llvm::zip_equal(result.parts, *parts))
      of.push_back(std::move(part));
  }
  return llvm::Error::success();
}

llvm::Expected<RunResult> Session::run(int repeats, Gather gather) {
  RunResult result;
  for (int step = 0; step < repeats; ++step) {
    if (llvm::Error error = impl->step(0))
      return error;
    result.seconds.push_back(impl->seconds);
    result.allocationsPerStep.push_back(impl->world->numAllocations());
  }
  if (llvm::Error error = impl->world->counts().moveInto(result.collectives))
    return error;
  if (llvm::Error error =
          impl->world->peakBytes().moveInto(result.peakBytesPerRank))
    return error;
  if (llvm::Error error =
          impl->world->ofSlowest(result.seconds).moveInto(result.seconds))
    return error;
  size_t count = impl->programs.front().program->results().size();
  for (size_t i = 0; gather != Gather::Nothing && i < count; ++i) {
    llvm::Expected<HostTensor> whole = impl->result(i);
    if (!whole)
      return whole.takeError();
    result.outputs.push_back(std::move(*whole));
  }
  if (gather == Gather::Parts)
    if (llvm::Error error = impl->keepParts(result))
      return error;
  return result;
}

llvm::Expected<RunResult>
Program::run(llvm::ArrayRef<const HostTensor *> inputs,
             const RunOptions &options) const {
  if (arguments().size() != inputs.size())
    return llvm::createStringError(std::to_string(arguments().size()) +
                                   " inputs expected, but " +
                                   std::to_string(inputs.size()) + " came");
  llvm::Expected<std::unique_ptr<Session>> session =
      Session::create({this}, options);
  if (!session)
    return session.takeError();
  Session::Impl &impl = *(*session)->impl;
  Session::Impl::Bound &bound = impl.programs.front();
  for (auto [number, input] : llvm::zip_equal(bound.arguments, inputs))
    if (llvm::Error error = impl.set(number, *input, /*mayShare=*/true))
      return error;
  return (*session)->run(options.repeats, options.keepParts
                                              ? Session::Gather::Parts
                                              : Session::Gather::Results);
}

} // namespace cp
