//===- TrainingRun.h - Some steps of a session, and their curve -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_TRAININGRUN_H
#define CP_UNITTESTS_EXECUTION_TRAININGRUN_H

#include "cp/Execution/Session.h"

namespace cp::test {

/// What each step gave, and what the parameters were at last.
struct Curve {
  std::vector<double> losses, norms;
  std::vector<HostTensor> trained;
};

/// Holds losses, norms and what was trained to those of another run.
void expectSame(const Curve &curve, const Curve &expected, double tolerance);

/// The largest difference of two curves, in parts of the second.
double farthest(llvm::ArrayRef<double> curve, llvm::ArrayRef<double> expected);

/// Fails the test where there is an error.
void succeed(llvm::Error error);
HostTensor scalar(double value);
HostTensor scalar(int64_t value);

/// A session with the programs of a step. What an optimizer keeps is zero, and
/// sums over micro-batches are what they should never be seen as.
class TrainingRun {
public:
  TrainingRun(llvm::ArrayRef<const Program *> programs,
              llvm::ArrayRef<TensorSpec> specs,
              llvm::ArrayRef<HostTensor> inputs);

  /// One step of the only program.
  void step(int64_t number);
  /// One more micro-batch, from 0, and the step of all of them.
  void accumulate(int64_t microBatch);
  void update(int64_t number);
  Curve finish();
  /// What ranks have in full is the same, bit by bit.
  void expectSameReplicas();

  std::unique_ptr<Session> session;

private:
  void setStep(int64_t number);
  void note();

  std::vector<const Program *> programs;
  bool hasStep = false;
  Curve curve;
};

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_TRAININGRUN_H
