//===- Check.h - Results held against one rank ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_CHECK_H
#define CP_TOOLS_CPRUN_CHECK_H

#include "Options.h"
#include "cp/Compile/Compile.h"
#include "cp/Execution/CompareResults.h"
#include "cp/Execution/Memory.h"

namespace cp {

/// The program of one rank that `checked` is held against. With
/// compile.exposeValues its ops' values are results. Errors: what
/// compileProgram refuses; a module that is sharded; other arguments, or
/// other results of the module's own, than those of `checked`.
llvm::Expected<std::unique_ptr<Program>>
compileReference(mlir::ModuleOp reference, const Options &options,
                 CompileOptions compile, const Program &checked);

/// What a check of these results takes beside the run. The reference (null:
/// there is none) has the run's inputs, and none of its own.
MemoryUse checkNeed(llvm::ArrayRef<TensorSpec> results,
                    const Program *reference);

/// What the results of a run are held against: those of the undecorated module
/// on one rank and reference kernels (--check), or of a file (--check-against).
class Expectation {
public:
  /// Null when no check of results is asked for. Refuses, before anything runs,
  /// what cannot be held against the results of `checked`.
  static llvm::Expected<std::unique_ptr<Expectation>>
  prepare(mlir::ModuleOp reference, const Options &options,
          const CompileOptions &compile, const Program &checked);

  /// Holds the results of a run with these inputs, and with keepParts, against
  /// it. Errors: the reference does not run.
  llvm::Expected<ResultsComparison>
  compare(llvm::ArrayRef<const HostTensor *> inputs, const RunResult &run,
          const ToleranceOf &toleranceOf);

  /// What the check takes beside the run.
  MemoryUse memory() const { return checkNeed(specs, reference.get()); }

private:
  std::vector<TensorSpec> specs;
  /// One of the two.
  std::unique_ptr<Program> reference;
  std::vector<HostTensor> stored;
};

} // namespace cp

#endif // CP_TOOLS_CPRUN_CHECK_H
