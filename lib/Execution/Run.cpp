//===- Run.cpp - Running a program on threads -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"

namespace cp {

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
  result.collectives = session.world->counts();
  result.peakBytesPerRank = session.world->peakBytes();
  for (size_t i = 0; i < results().size(); ++i) {
    llvm::Expected<HostTensor> whole = session.result(i);
    if (!whole)
      return whole.takeError();
    result.outputs.push_back(std::move(*whole));
  }
  for (int64_t rank = 0, e = mesh().numRanks(); rank < e && options.keepParts;
       ++rank)
    result.parts.push_back(session.partsOf(rank));
  return result;
}

} // namespace cp
