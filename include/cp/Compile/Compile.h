//===- Compile.h - From a module to machine code ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_COMPILE_COMPILE_H
#define CP_COMPILE_COMPILE_H

#include "cp/Execution/Program.h"
#include "cp/Transforms/Gradients.h"
#include "cp/Transforms/Residuals.h"
#include "cp/Transforms/Sharding.h"
#include "cp/Transforms/Update.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cp {

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
  /// Sums over ranks go on while a rank computes, and parameters are gathered a
  /// layer ahead, where ranks send messages, for the memory of a layer's
  /// (cp-overlap-exchanges).
  bool overlap = false;
  /// LLVM optimises the token-wise loops of a program for this process. For one
  /// that runs a few times on little that takes longer than it saves; the
  /// results have the same bits.
  bool optimize = true;
  /// For ranks with a device as well: token-wise loops are code for cards too
  /// (RunOptions::device).
  bool device = false;
  /// Of which program gradients are derived. Without a sharding all are whole.
  DifferentiatedView differentiate = DifferentiatedView::Global;
  /// Modules without layouts: what every op computes is a result too, after the
  /// module's own (cp-expose-values).
  bool exposeValues = false;
  /// Without a sharding, and with gradients of whole tensors: what is repeated
  /// and padded to be cut so is that here too, before gradients are derived. So
  /// the ops are those of the sharded program, to be compared one by one; what
  /// the preparing itself did wrong both have.
  std::optional<Sharding> preparedFor;
};

/// Compiles a copy of `module` for this process; errors come as diagnostics on
/// its ops, and the return value says which stage failed.
llvm::Expected<std::unique_ptr<Program>>
compileProgram(mlir::ModuleOp module, const CompileOptions &options);

/// One that trains: as above, or, where `options.update.accumulate` is asked
/// for, the two of cp-split-update: to be run for each micro-batch of a step,
/// and then for the step.
llvm::Expected<std::vector<std::unique_ptr<Program>>>
compileSteps(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cp

#endif // CP_COMPILE_COMPILE_H
