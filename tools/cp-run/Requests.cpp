//===- Requests.cpp - What is asked of compiler and runtime -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Requests.h"

#include "cp/Execution/ModuleState.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace cp {

/// Of what the pass would refuse too, in the words of this tool's options.
/// Order and axes need the mesh, and are left to the pass.
static llvm::Error checkSharding(const Options &options) {
  if (!options.strategy.empty() && !symbolizeCutStrategy(options.strategy))
    return llvm::createStringError("--strategy must be hidden, sequence or 2d, "
                                   "but is '" +
                                   options.strategy + "'");
  if (!symbolizeAttentionForm(options.attention))
    return llvm::createStringError("--attention must be ulysses, ring, gather "
                                   "or 2d, but is '" +
                                   options.attention + "'");
  if (!symbolizeScanAlgorithm(options.scan))
    return llvm::createStringError("--scan must be chain, gather, doubling, "
                                   "pipelined or transposed, but is '" +
                                   options.scan + "'");
  return llvm::Error::success();
}

llvm::Expected<CompileOptions> compileOptions(const Options &options) {
  if (llvm::Error error = checkSharding(options))
    return error;
  if (options.kernels != "fast" && options.kernels != "reference")
    return llvm::createStringError(
        "--kernels must be fast or reference, but is "
        "'" +
        options.kernels + "'");
  if (options.repeats < 1)
    return llvm::createStringError("--repeat must be at least 1, but is " +
                                   std::to_string(options.repeats));
  if (options.tolerance &&
      !(*options.tolerance >= 0 && std::isfinite(*options.tolerance)))
    return llvm::createStringError(
        "--tolerance must be at least 0, and finite");
  if (options.check != Check::None && !options.checkAgainst.empty())
    return llvm::createStringError(
        "--check and --check-against exclude each other; give one of them");
  if (!options.reference.empty() && options.check == Check::None)
    return llvm::createStringError(
        "--reference is what --check compares with; give --check too");
  if (options.maxMemory < 0)
    return llvm::createStringError("--max-memory must be at least 0, but is " +
                                   std::to_string(options.maxMemory));
  llvm::Expected<std::optional<Mesh>> mesh = meshFrom(options);
  if (!mesh)
    return mesh.takeError();
  CompileOptions compile;
  compile.entry = options.entry;
  compile.scan = options.scan;
  compile.axis = options.axis;
  compile.order = options.order;
  compile.attention = options.attention;
  compile.tensorAxis = options.tensorAxis;
  compile.replicateUnused = options.replicateUnused;
  compile.mesh = mesh->value_or(Mesh{{{options.axis, 1}}});
  compile.strategy = options.strategy;
  if (compile.strategy.empty() && compile.mesh.numRanks() > 1)
    compile.strategy = "sequence";
  return compile;
}

llvm::Error checkModule(mlir::ModuleOp module, const Options &options,
                        const CompileOptions &compile) {
  llvm::Expected<ModuleState> state = stateOf(module, options.entry);
  if (!state)
    return state.takeError();
  if (state->mesh && options.ranks && state->mesh->numRanks() != *options.ranks)
    return llvm::createStringError("--ranks=" + std::to_string(*options.ranks) +
                                   ", but the module's own mesh has " +
                                   std::to_string(state->mesh->numRanks()) +
                                   " ranks");
  if (state->mesh && !options.mesh.empty() && !(compile.mesh == *state->mesh))
    return llvm::createStringError("--mesh=" + options.mesh +
                                   ", but the module has another mesh of its "
                                   "own; leave --mesh out");
  if (state->stage == Stage::Global || options.sharding.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "the module is sharded already (" + stageName(state->stage) +
      (state->mesh ? ", mesh '" + meshText(*state->mesh) + "'" : "") +
      "), so " + llvm::join(options.sharding, ", ") +
      (options.sharding.size() == 1 ? " has" : " have") +
      " no effect; give the module before it was sharded, or leave the options "
      "out");
}

RunOptions runOptions(const Options &options, int64_t ranks) {
  RunOptions run;
  run.kernels = options.kernels == "reference" ? CPRT_KERNELS_REFERENCE
                                               : CPRT_KERNELS_FAST;
  run.deadlineMs = options.deadlineMs;
  // As the runtime shares them.
  int64_t processors = std::thread::hardware_concurrency();
  run.threads = options.threads ? options.threads
                                : std::max<int64_t>(processors / ranks, 1);
  run.repeats = options.repeats;
  if (options.failRank >= 0 || options.stallRank >= 0)
    run.beforeRank = [options](int64_t rank, cprt_context *context) {
      if (rank == options.failRank)
        cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                          "made to fail by --test-fail-rank");
      return rank != options.failRank && rank != options.stallRank;
    };
  return run;
}

} // namespace cp
