//===- TrainingRun.cpp - Some steps of a session ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingRun.h"

#include "TestModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace cp::test {

static double numberOf(llvm::Expected<HostTensor> tensor) {
  if (tensor)
    return tensor->asDoubles().front();
  ADD_FAILURE() << llvm::toString(tensor.takeError());
  return NAN;
}

void succeed(llvm::Error error) {
  if (error)
    ADD_FAILURE() << llvm::toString(std::move(error));
}

HostTensor scalar(double value) { return fromDoubles(DType::F64, {}, {value}); }
HostTensor scalar(int64_t value) {
  HostTensor tensor = HostTensor::zeros(DType::I64, {});
  std::memcpy(tensor.bytes.data(), &value, sizeof(value));
  return tensor;
}

TrainingRun::TrainingRun(llvm::ArrayRef<const Program *> programs,
                         llvm::ArrayRef<TensorSpec> specs,
                         llvm::ArrayRef<HostTensor> inputs)
    : programs(programs.begin(), programs.end()) {
  llvm::Expected<std::unique_ptr<Session>> made =
      Session::create(programs, RunOptions());
  if (!made) {
    ADD_FAILURE() << llvm::toString(made.takeError());
    return;
  }
  session = std::move(*made);
  for (auto [spec, input] : llvm::zip_equal(specs, inputs))
    succeed(session->set(spec.name, input));
  for (const Program *program : programs)
    for (const TensorSpec &spec : program->arguments()) {
      HostTensor zeros = HostTensor::zeros(spec.dtype, spec.shape);
      if (spec.isState)
        succeed(session->set(spec.name, zeros));
      if (spec.isAccumulator)
        succeed(session->set(
            spec.name,
            fromDoubles(spec.dtype, spec.shape,
                        std::vector<double>(zeros.asDoubles().size(), NAN))));
      hasStep |= spec.name == update::step;
    }
  succeed(session->set(update::rate, scalar(1e-2)));
  succeed(session->set(update::clip, scalar(1.0)));
}

void TrainingRun::setStep(int64_t number) {
  if (hasStep)
    succeed(session->set(update::step, scalar(number)));
}

void TrainingRun::note() {
  curve.losses.push_back(
      numberOf(session->result(programs.back()->results().front().name)));
  curve.norms.push_back(numberOf(session->result(update::gradNorm)));
}

void TrainingRun::step(int64_t number) {
  setStep(number);
  succeed(session->step());
  note();
}

void TrainingRun::accumulate(int64_t microBatch) {
  succeed(session->set(update::microBatch, scalar(microBatch)));
  succeed(session->step(0));
}

void TrainingRun::update(int64_t number) {
  setStep(number);
  succeed(session->step(1));
  note();
}

Curve TrainingRun::finish() {
  for (const TensorSpec &spec : programs.back()->results()) {
    if (spec.updates.empty())
      continue;
    llvm::Expected<HostTensor> whole = session->get(spec.updates);
    if (whole)
      curve.trained.push_back(std::move(*whole));
    else
      ADD_FAILURE() << llvm::toString(whole.takeError());
  }
  return curve;
}

void TrainingRun::expectSameReplicas() {
  for (const TensorSpec &spec : programs.back()->results()) {
    bool isCut = llvm::any_of(spec.layout.dims,
                              [](const auto &dim) { return !dim.empty(); });
    if (spec.updates.empty() || isCut)
      continue;
    llvm::Expected<std::vector<HostTensor>> parts =
        session->parts(spec.updates);
    ASSERT_TRUE(bool(parts)) << llvm::toString(parts.takeError());
    for (const HostTensor &part : *parts)
      EXPECT_EQ(part.bytes, parts->front().bytes) << spec.updates;
  }
}

double farthest(llvm::ArrayRef<double> curve, llvm::ArrayRef<double> expected) {
  double most = 0;
  for (auto [a, b] : llvm::zip_equal(curve, expected)) {
    double apart = std::fabs(a - b) / std::fabs(b);
    // What is no number is far from all.
    most = apart <= most          ? most
           : std::isfinite(apart) ? apart
                                  : std::numeric_limits<double>::infinity();
  }
  return most;
}

void expectSame(const Curve &curve, const Curve &expected, double tolerance) {
  EXPECT_LE(farthest(curve.losses, expected.losses), tolerance);
  EXPECT_LE(farthest(curve.norms, expected.norms), tolerance);
  ASSERT_EQ(curve.trained.size(), expected.trained.size());
  for (size_t i = 0; i < curve.trained.size(); ++i)
    EXPECT_LE(compare(curve.trained[i], expected.trained[i]).relL2, tolerance)
        << "number " << i;
}

} // namespace cp::test
