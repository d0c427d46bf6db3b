//===- Requests.cpp - What is asked of compiler and runtime -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Requests.h"

#include "cp/Compile/ModuleState.h"
#include "cp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {

/// Of options alone.
static llvm::Error checkOptions(const Options &options) {
  if (llvm::Error error = checkRunFlags(options))
    return error;
  if (options.check != Check::None && !options.checkAgainst.empty())
    return llvm::createStringError(
        "--check and --check-against exclude each other; give one of them");
  if (!options.reference.empty() && options.check == Check::None)
    return llvm::createStringError(
        "--reference is what --check compares with; give --check too");
  if (!options.loss.empty() && options.loss != "next_token")
    return llvm::createStringError("--loss must be next_token, but is '" +
                                   options.loss + "'");
  if (options.loss.empty() &&
      (!options.labels.empty() || options.withGradients))
    return llvm::createStringError(
        std::string(options.labels.empty() ? "--gradients is of"
                                           : "--labels is for") +
        " the loss that --loss=next_token asks for; give it too");
  if (options.differentiate == DifferentiatedView::Local &&
      !options.withGradients)
    return llvm::createStringError("--differentiate is for what --gradients "
                                   "asks for; give it too");
  if (options.vjp && options.emit.empty())
    return llvm::createStringError("--vjp is for who calls a program that is "
                                   "compiled to a file; give --emit too");
  if (options.vjp && !options.loss.empty())
    return llvm::createStringError(
        "--vjp takes cotangents of the module's results, and --loss puts its "
        "own in their place; leave one out");
  if (options.sharding.partialGradients && !options.vjp)
    return llvm::createStringError(
        "--partial-gradients is of what --vjp asks for; give it too");
  return llvm::Error::success();
}

/// Of options that the module leaves no choice in.
static llvm::Error checkModule(const ModuleState &state, const Options &options,
                               const std::optional<Mesh> &mesh) {
  if (state.mesh && options.ranks && state.mesh->numRanks() != *options.ranks)
    return llvm::createStringError("--ranks=" + std::to_string(*options.ranks) +
                                   ", but the module's own mesh has " +
                                   std::to_string(state.mesh->numRanks()) +
                                   " ranks");
  if (state.stage != Stage::Global && state.mesh && !options.mesh.empty() &&
      !(*mesh == *state.mesh))
    return llvm::createStringError("--mesh=" + options.mesh +
                                   ", but the module has another mesh of its "
                                   "own; leave --mesh out");
  if (state.stage != Stage::Global && !options.loss.empty())
    return llvm::createStringError(
        "the module is sharded already (" + stageName(state.stage) +
        "), and a loss is for a module before that; give the module before it "
        "was sharded");
  if (state.stage == Stage::Global || options.shardingFlags.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "the module is sharded already (" + stageName(state.stage) +
      (state.mesh ? ", mesh '" + meshText(*state.mesh) + "'" : "") + "), so " +
      llvm::join(options.shardingFlags, ", ") +
      (options.shardingFlags.size() == 1 ? " has" : " have") +
      " no effect; give the module before it was sharded, or leave the options "
      "out");
}

/// How to shard over `mesh`, or nothing for the program of one rank, unless
/// some of its tensors are pinned to layouts. Options that were given are read
/// even then.
static llvm::Expected<std::optional<Sharding>>
shardingFrom(const Options &options, const Mesh &mesh, bool isPinned) {
  ShardingText text = options.sharding;
  text.mesh = meshText(mesh);
  bool mayStayWhole = mesh.numRanks() == 1 && !isPinned;
  if (options.shardingFlags.empty() && mayStayWhole)
    return std::nullopt;
  bool isAsked = !text.mixer.empty();
  if (!isAsked)
    text.mixer = ShardingText().mixer;
  llvm::Expected<Sharding> sharding =
      parseSharding(text, [](llvm::StringRef option) {
        return "--" + (option == "mixer" ? "strategy" : option).str();
      });
  if (!sharding)
    return sharding.takeError();
  if (!isAsked && mayStayWhole)
    return std::nullopt;
  return std::move(*sharding);
}

llvm::Expected<CompileOptions> compileOptions(mlir::ModuleOp module,
                                              const Options &options) {
  if (llvm::Error error = checkOptions(options))
    return error;
  llvm::Expected<std::optional<Mesh>> mesh = meshFrom(options);
  if (!mesh)
    return mesh.takeError();
  llvm::Expected<ModuleState> state = stateOf(module, options.entry);
  if (!state)
    return state.takeError();
  Mesh asked = mesh->value_or(oneRank(options.sharding.axis));
  if (options.job)
    if (llvm::Error error = options.job->checkSize(state->mesh.value_or(asked)))
      return error;
  if (llvm::Error error = checkModule(*state, options, *mesh))
    return error;
  CompileOptions compile;
  compile.entry = options.entry;
  compile.nextTokenLoss = options.hasLoss;
  compile.gradients = options.withGradients;
  compile.differentiate = options.differentiate;
  compile.mesh = asked;
  compile.overlap = options.overlap;
  compile.device = !options.device.empty();
  if (options.vjp)
    compile.vjp.emplace(VectorJacobian{*options.vjp});
  if (state->stage != Stage::Global)
    return compile;
  auto sharding = shardingFrom(options, compile.mesh, state->mesh.has_value());
  if (!sharding)
    return sharding.takeError();
  compile.sharding = std::move(*sharding);
  return compile;
}

} // namespace cp
