//===- Check.h - Runs of a model held against numbers -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GATED_CHECK_H
#define GATED_CHECK_H

#include "Gated.h"
#include "cp/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <random>

namespace gated {

inline constexpr cp::ScanAlgorithm scans[] = {
    cp::ScanAlgorithm::Chain, cp::ScanAlgorithm::Gather,
    cp::ScanAlgorithm::Doubling, cp::ScanAlgorithm::Pipelined,
    cp::ScanAlgorithm::Transposed};

inline cp::HostTensor tensorOf(std::vector<int64_t> shape,
                               const std::vector<double> &values) {
  cp::HostTensor tensor =
      cp::HostTensor::zeros(cp::DType::F64, std::move(shape));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

inline std::vector<double> draw(size_t count, double low, double high,
                                unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(count);
  for (double &value : values)
    value = uniform(engine);
  return values;
}

inline llvm::Expected<cp::RunResult>
compileAndRun(mlir::ModuleOp module, const cp::CompileOptions &options,
              llvm::ArrayRef<const cp::HostTensor *> inputs) {
  llvm::Expected<std::unique_ptr<cp::Program>> program =
      cp::Program::compile(module, options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs, {});
}

/// Prints how far the results are from `want`; whether that is near enough.
inline bool check(const std::string &name, llvm::Expected<cp::RunResult> result,
                  llvm::ArrayRef<cp::HostTensor> want) {
  if (!result) {
    llvm::errs() << name << ": " << toString(result.takeError()) << "\n";
    return false;
  }
  double error = 0;
  for (size_t i = 0; i < want.size(); ++i)
    error = std::max(error, cp::compare(result->outputs[i], want[i]).relL2);
  llvm::outs() << llvm::formatv("{0,-36} rel_l2 {1:e2}", name, error);
  for (const cp::CollectiveCount &count : result->collectives)
    llvm::outs() << llvm::formatv("  {0} x{1}", count.op, count.calls);
  llvm::outs() << "\n";
  return error <= 1e-12;
}

} // namespace gated

#endif // GATED_CHECK_H
