//===- Program.cpp - Compiling a module for a world of ranks ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalProgram.h"
#include "ProgramImpl.h"

#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>

using namespace mlir;

namespace cp {
namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// A module of whole tensors that is not to be cut.
void addWhole(PassManager &manager, const CompileOptions &options) {
  manager.addPass(createDecompose());
  if (!options.exposeValues)
    return;
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createNumberValues());
  functions.addPass(createExposeValues());
}

/// A module of whole tensors: its loss, its gradients, and its cuts.
void addGlobal(PassManager &manager, const CompileOptions &options) {
  bool isLocal =
      options.sharding && options.differentiate == DifferentiatedView::Local;
  if (options.nextTokenLoss)
    manager.nest<func::FuncOp>().addPass(createNextTokenLoss());
  if (options.gradients && !isLocal)
    buildGlobalGradientPipeline(manager, options.sharding, {}, options.update);
  if (options.sharding)
    buildShardPipeline(manager, *options.sharding, options.exposeValues);
  else
    addWhole(manager, options);
  if (options.gradients && isLocal)
    buildLocalGradientPipeline(manager);
}

/// Runs the passes that bring a module of this stage to one rank's program.
LogicalResult shard(ModuleOp module, Stage stage,
                    const CompileOptions &options) {
  PassManager manager(module.getContext());
  if (stage == Stage::Global)
    addGlobal(manager, options);
  else if (stage == Stage::WithLayouts)
    buildPartitionPipeline(manager);
  else
    manager.nest<func::FuncOp>().addPass(createExplainCollectives());
  return manager.run(module);
}

LogicalResult lower(ModuleOp module) {
  PassManager manager(module.getContext());
  buildLowerPipeline(manager);
  return manager.run(module);
}

/// Only the entry stays public, so that nothing else is compiled.
void keepOnly(ModuleOp module, StringRef entry) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.getName() != entry && function.isPublic())
      function.erase();
}

llvm::Error checkMesh(const Mesh &mesh) {
  constexpr int64_t most = 1024;
  if (mesh.numRanks() <= most)
    return llvm::Error::success();
  return llvm::createStringError(
      "mesh '" + meshText(mesh) + "' has " + std::to_string(mesh.numRanks()) +
      " ranks, but one process runs at most " + std::to_string(most));
}

} // namespace

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;
Stage Program::stage() const { return impl->stage; }
const Mesh &Program::mesh() const { return impl->mesh; }
ArrayRef<TensorSpec> Program::arguments() const {
  return impl->signature.arguments;
}
ArrayRef<TensorSpec> Program::results() const {
  return impl->signature.results;
}
double Program::compileSeconds() const { return impl->compileSeconds; }
int64_t Program::arenaBytes() const { return impl->arenaBytes; }

llvm::Expected<LocalProgram> makeLocal(ModuleOp original,
                                       const CompileOptions &options) {
  LocalProgram local;
  local.module = original.clone();
  llvm::Expected<func::FuncOp> entry = findEntry(*local.module, options.entry);
  if (!entry)
    return entry.takeError();
  local.stage = stageOf(*entry);
  llvm::Expected<std::optional<Mesh>> mesh = meshOf(*entry);
  if (!mesh)
    return mesh.takeError();
  const Mesh &asked = options.sharding ? options.sharding->mesh : options.mesh;
  local.mesh = mesh->value_or(asked);
  if (llvm::Error error = checkMesh(local.mesh))
    return error;
  std::string name = entry->getName().str();
  keepOnly(*local.module, name);
  if (failed(shard(*local.module, local.stage, options)))
    return llvm::createStringError("the module could not be sharded");
  entry = findEntry(*local.module, name);
  if (!entry)
    return entry.takeError();
  local.entry = *entry;
  llvm::Expected<Signature> signature = signatureOf(*entry, local.mesh);
  if (!signature)
    return signature.takeError();
  local.signature = std::move(*signature);
  return local;
}

llvm::Expected<std::unique_ptr<Program>>
Program::compile(ModuleOp original, const CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<LocalProgram> local = makeLocal(original, options);
  if (!local)
    return local.takeError();
  std::unique_ptr<Program> program(new Program);
  Impl &impl = *program->impl;
  impl.stage = local->stage;
  impl.mesh = local->mesh;
  impl.signature = std::move(local->signature);
  std::string name = local->entry.getName().str();
  if (failed(lower(*local->module)))
    return llvm::createStringError("the module could not be lowered");
  // A program without buffers has no arena.
  if (Operation *entry = local->module->lookupSymbol(name))
    if (auto bytes = entry->getAttrOfType<IntegerAttr>(arenaAttr))
      impl.arenaBytes = bytes.getInt();
  llvm::Expected<CompiledEntry> compiled =
      compileToMachineCode(*local->module, name, options.operations);
  if (!compiled)
    return compiled.takeError();
  impl.compiled = std::move(*compiled);
  impl.compileSeconds = secondsSince(start);
  return program;
}

} // namespace cp
