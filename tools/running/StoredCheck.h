//===- StoredCheck.h - Results held against those of a file -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_STOREDCHECK_H
#define CP_TOOLS_RUNNING_STOREDCHECK_H

#include "RunFlags.h"
#include "cp/Execution/CompareResults.h"

#include <vector>

namespace cp {

/// The flags --check-against and --tolerance.
void defineStoredCheck(RunFlags &flags, llvm::cl::OptionCategory &category);

/// What rounding may do to values of each type, by --tolerance or the type. Of
/// a program with arguments in bf16, to f32 as to bf16: only sums are f32.
ToleranceOf toleranceOf(const RunFlags &flags,
                        const Program *program = nullptr);

/// The results of a program that a file holds, and nothing else. Errors: a file
/// that cannot be read; a result that it lacks, or more than these; other
/// shapes or types that are not comparable.
llvm::Expected<std::vector<HostTensor>>
storedResults(const std::string &path, llvm::ArrayRef<TensorSpec> specs);

/// That what was compared is near enough; the error says what is not.
llvm::Error checkNear(const ResultsComparison &comparison,
                      llvm::ArrayRef<TensorSpec> specs);

} // namespace cp

#endif // CP_TOOLS_RUNNING_STOREDCHECK_H
