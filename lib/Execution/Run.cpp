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
llvm::Error Program::keepParts(const Session &session, RunResult &result) {
  result.parts.resize(size_t(session.impl->world->numRanks()));
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    llvm::Expected<std::vector<HostTensor>> parts =
        session.impl->partsOfResult(i);
    if (!parts)
      return parts.takeError();
    for (auto [of, part] : llvm::zip_equal(result.parts, *parts))
      of.push_back(std::move(part));
  }
  return llvm::Error::success();
}

llvm::Expected<RunResult>
Program::run(llvm::ArrayRef<const HostTensor *> inputs,
             const RunOptions &options) {
  if (arguments().size() != inputs.size())
    return llvm::createStringError(std::to_string(arguments().size()) +
                                   " inputs expected, but " +
                                   std::to_string(inputs.size()) + " came");
  llvm::Expected<std::unique_ptr<Session>> made =
      Session::create({this}, options);
  if (!made)
    return made.takeError();
  Session::Impl &session = *(*made)->impl;
  Session::Impl::Bound &bound = session.programs.front();
  for (auto [number, input] : llvm::zip_equal(bound.arguments, inputs))
    if (llvm::Error error = session.set(number, *input, /*mayShare=*/true))
      return error;
  RunResult result;
  for (int step = 0; step < options.repeats; ++step) {
    if (llvm::Error error = session.step(0))
      return error;
    result.seconds.push_back(session.seconds);
    result.allocationsPerStep.push_back(session.world->numAllocations());
  }
  if (llvm::Error error = session.world->counts().moveInto(result.collectives))
    return error;
  if (llvm::Error error =
          session.world->peakBytes().moveInto(result.peakBytesPerRank))
    return error;
  for (size_t i = 0; i < results().size(); ++i) {
    llvm::Expected<HostTensor> whole = session.result(i);
    if (!whole)
      return whole.takeError();
    result.outputs.push_back(std::move(*whole));
  }
  if (options.keepParts)
    if (llvm::Error error = keepParts(**made, result))
      return error;
  return result;
}

} // namespace cp
