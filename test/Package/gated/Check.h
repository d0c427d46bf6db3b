//===- Check.h - Runs of a model held against numbers -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GATED_CHECK_H
#define GATED_CHECK_H

#include "Gated.h"
#include "cp/Trace/TraceTokens.h"
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
      cp::compileProgram(module, options);
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

/// Whether every id comes to where it belongs, as the ops' traces say.
inline bool traceAll(mlir::ModuleOp module, cp::CompileOptions options,
                     const std::string &name) {
  llvm::Expected<cp::TokenTrace> trace = cp::traceTokens(module, options);
  if (!trace) {
    llvm::errs() << name << ": " << toString(trace.takeError()) << "\n";
    return false;
  }
  for (const cp::TokenFinding &finding : trace->findings)
    llvm::errs() << name << ": " << finding.where << ": " << finding.what
                 << "\n";
  for (const auto &[op, count] : trace->untraced)
    llvm::errs() << name << ": " << op << " was not followed\n";
  return trace->findings.empty() && trace->untraced.empty() && trace->complete;
}

/// Whether rank 0 is found to read something wrong.
inline bool isSeenBroken(mlir::ModuleOp module, llvm::StringRef what) {
  llvm::Expected<cp::TokenTrace> trace = cp::traceTokens(module, {});
  if (!trace) {
    llvm::errs() << toString(trace.takeError()) << "\n";
    return false;
  }
  bool isSeen = trace->findings.size() == 1 && trace->findings[0].rank == 0 &&
                trace->findings[0].what == what;
  if (!isSeen)
    llvm::errs() << "the broken program is not seen to be broken: "
                 << (trace->findings.empty() ? "nothing is found"
                                             : trace->findings[0].what)
                 << "\n";
  return isSeen;
}

} // namespace gated

#endif // GATED_CHECK_H
