//===- Program.h - A compiled module and its runs ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_PROGRAM_H
#define CP_EXECUTION_PROGRAM_H

#include "cp/Execution/HostTensor.h"
#include "cp/Execution/Transport.h"
#include "cp/Runtime/cprt.h"
#include "cp/Transforms/Gradients.h"
#include "cp/Transforms/Residuals.h"
#include "cp/Transforms/Sharding.h"
#include "cp/Transforms/Update.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cp {

/// How far a module has come.
enum class Stage {
  /// Whole tensors, no layouts.
  Global,
  /// Whole tensors with layouts.
  WithLayouts,
  /// One rank's program.
  Local
};
/// "global", "with layouts", "local".
llvm::StringRef stageName(Stage stage);

/// One argument or result of an entry function, as the caller sees it.
struct TensorSpec {
  /// The tensor's `cp.name` or `cp.param`; "argN" or "resultN" without.
  std::string name;
  bool isParam = false;
  /// `cp.init`, or null.
  mlir::DictionaryAttr init;
  /// `cp.value`: of which op inside this result is the value; or null.
  mlir::DictionaryAttr value;
  /// `cp.residual`: each rank's own, which is no part of anything.
  bool isResidual = false;
  /// `cp.state`: what an optimizer keeps of a parameter.
  bool isState = false;
  /// `cp.accumulates`: a sum over micro-batches, which the first one starts
  /// anew.
  bool isAccumulator = false;
  /// `cp.updates`: the argument of which this result is the new value, and in
  /// whose buffer it is; empty for other results.
  std::string updates;
  DType dtype = DType::F32;
  /// The shape of the whole tensor.
  std::vector<int64_t> shape;
  Layout layout;
};

/// An operation that the runtime does not have: what ops of other dialects call
/// whose RuntimeOpInterface names `symbol` ("mine" for `cprt_mine`).
struct RuntimeOperation {
  std::string symbol;
  cprt_op *function = nullptr;
};

/// Forward and backward as two programs, for who calls them apart.
struct VectorJacobian {
  /// The arguments, beside the parameters, that gradients are of.
  std::vector<std::string> wrt;
};

struct CompileOptions {
  /// The entry function; empty: the only public one.
  std::string entry;
  /// How a module without layouts is sharded. Nothing: not at all, every rank
  /// runs the program of one.
  std::optional<Sharding> sharding;
  /// The ranks of a module that is not sharded here and names no mesh itself.
  Mesh mesh{{{"cp", 1}}};
  /// Operations beside the runtime's own. A name of the runtime's is an error.
  std::vector<RuntimeOperation> operations;
  /// Modules without layouts: the mean loss of each next token in place of the
  /// logits, by one more argument `labels` (cp-next-token-loss).
  bool nextTokenLoss = false;
  /// Modules without layouts: the gradient of the loss by each parameter is a
  /// result too, "grad." and its name (cp-differentiate).
  bool gradients = false;
  /// Modules without layouts, for writeArtifact: in place of the program one
  /// that gives its results and residuals, and one that makes of these, and of
  /// a cotangent of each result, the gradients (cp-split-backward).
  std::optional<VectorJacobian> vjp;
  /// With gradients of whole tensors: a step of an optimizer in their place
  /// (cp-add-update).
  UpdateOptions update;
  /// Limits the bytes that a rank's program works on, its arena: what does not
  /// fit of the forward pass is computed again in the backward pass
  /// (cp-plan-residuals). Errors: what no plan fits into.
  ResidualOptions memory;
  /// Of which program gradients are derived. Without a sharding all are whole.
  DifferentiatedView differentiate = DifferentiatedView::Global;
  /// Modules without layouts: what every op computes is a result too, after the
  /// module's own (cp-expose-values).
  bool exposeValues = false;
};

struct RunOptions {
  cprt_kernel_set kernels = CPRT_KERNELS_FAST;
  int64_t deadlineMs = 0;
  /// Of each rank's kernels; 0 shares the processors between the ranks.
  int64_t threads = 0;
  int repeats = 1;
  /// Give each rank's parts of the results too.
  bool keepParts = false;
  /// Ranks are the processes of its job, one each: all of them make the same
  /// calls with the same tensors. Null: ranks are threads of this process.
  std::shared_ptr<Transport> transport;
  /// For tests of failures: called by each rank before its program; false makes
  /// the rank leave without running it, which fails the run.
  std::function<bool(int64_t rank, cprt_context *context)> beforeRank;
};

/// What one kind of collective moved in one step.
struct CollectiveCount {
  std::string op;
  std::vector<std::string> axes;
  int64_t calls = 0;
  std::vector<int64_t> bytesSentPerRank;
};

struct RunResult {
  std::vector<HostTensor> outputs;
  /// With keepParts: per rank one part of each result.
  std::vector<std::vector<HostTensor>> parts;
  std::vector<double> seconds;
  std::vector<CollectiveCount> collectives;
  std::vector<int64_t> peakBytesPerRank;
  /// By step, of the ranks of this process together: what
  /// cprt_context_allocations counts. A program allocates in its first step
  /// only.
  std::vector<int64_t> allocationsPerStep;
};

class Session;

/// A module compiled for this machine. Runs on threads, one a rank; for many
/// steps see Session.h.
class Program {
public:
  /// Compiles a copy of `module`; errors come as diagnostics on its ops, and
  /// the return value says which stage failed.
  static llvm::Expected<std::unique_ptr<Program>>
  compile(mlir::ModuleOp module, const CompileOptions &options);
  /// One that trains: as above, or, where `options.update.accumulate` is asked
  /// for, the two of cp-split-update: to be run for each micro-batch of a step,
  /// and then for the step.
  static llvm::Expected<std::vector<std::unique_ptr<Program>>>
  compileSteps(mlir::ModuleOp module, const CompileOptions &options);
  ~Program();

  Stage stage() const;
  const Mesh &mesh() const;
  llvm::ArrayRef<TensorSpec> arguments() const;
  llvm::ArrayRef<TensorSpec> results() const;
  double compileSeconds() const;
  /// The bytes that the compiler has planned for one rank's buffers (cp.arena),
  /// beside its arguments and results.
  int64_t arenaBytes() const;

  /// Tells programs apart: of equal ones it is equal.
  uint64_t hash() const;

  /// Runs on mesh().numRanks() ranks. `inputs` are whole tensors, one for each
  /// argument, not changed: arguments that results update (`cp.updates`) are
  /// copies, which go on from step to step. Errors: an input of another type or
  /// shape; the first failure of a rank, with what each rank says.
  llvm::Expected<RunResult> run(llvm::ArrayRef<const HostTensor *> inputs,
                                const RunOptions &options);

private:
  friend class Session;
  static llvm::Error keepParts(const Session &session, RunResult &result);
  Program();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace cp

#endif // CP_EXECUTION_PROGRAM_H
