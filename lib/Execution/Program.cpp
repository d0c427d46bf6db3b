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
  if (options.nextTokenLoss) {
    NextTokenLossOptions loss;
    loss.sums = options.update.accumulate;
    manager.nest<func::FuncOp>().addPass(createNextTokenLoss(loss));
  }
  if (options.gradients && !isLocal)
    buildGlobalGradientPipeline(manager, options.sharding, {}, options.update);
  if (options.sharding)
    buildShardPipeline(manager, *options.sharding, options.exposeValues);
  else
    addWhole(manager, options);
  if (options.gradients && isLocal)
    buildLocalGradientPipeline(manager);
  if (options.update.accumulate)
    manager.addPass(createSplitUpdate());
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

/// What no pass would say of options that go together in no program.
llvm::Error checkUpdate(const CompileOptions &options) {
  const UpdateOptions &update = options.update;
  bool isLocal =
      options.sharding && options.differentiate == DifferentiatedView::Local;
  if (update.optimizer == Optimizer::None && update.accumulate)
    return llvm::createStringError("micro-batches are summed for a step; give "
                                   "the update an optimizer");
  if (update.optimizer != Optimizer::None && (!options.gradients || isLocal))
    return llvm::createStringError(
        "an update is of gradients of whole tensors; ask for gradients, with "
        "the global program differentiated");
  return llvm::Error::success();
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

/// A copy of a module, of which the public functions are programs of one rank.
struct ShardedModule {
  OwningOpRef<ModuleOp> module;
  /// Of the function that it was made of.
  std::string name;
  Stage stage = Stage::Global;
  Mesh mesh;
};

static llvm::Expected<ShardedModule>
shardModule(ModuleOp original, const CompileOptions &options) {
  if (llvm::Error error = checkUpdate(options))
    return error;
  ShardedModule sharded;
  sharded.module = original.clone();
  llvm::Expected<func::FuncOp> entry =
      findEntry(*sharded.module, options.entry);
  if (!entry)
    return entry.takeError();
  sharded.stage = stageOf(*entry);
  if (sharded.stage != Stage::Global &&
      options.update.optimizer != Optimizer::None)
    return llvm::createStringError(
        "an update is added to whole tensors, but the module is " +
        stageName(sharded.stage) + "; give it as it was before");
  llvm::Expected<std::optional<Mesh>> mesh = meshOf(*entry);
  if (!mesh)
    return mesh.takeError();
  const Mesh &asked = options.sharding ? options.sharding->mesh : options.mesh;
  sharded.mesh = mesh->value_or(asked);
  if (llvm::Error error = checkMesh(sharded.mesh))
    return error;
  sharded.name = entry->getName().str();
  keepOnly(*sharded.module, sharded.name);
  if (failed(shard(*sharded.module, sharded.stage, options)))
    return llvm::createStringError("the module could not be sharded");
  return sharded;
}

/// The program of the function of this name.
static llvm::Expected<LocalProgram> localOf(const ShardedModule &sharded,
                                            OwningOpRef<ModuleOp> module,
                                            StringRef name) {
  LocalProgram local;
  local.module = std::move(module);
  local.stage = sharded.stage;
  local.mesh = sharded.mesh;
  keepOnly(*local.module, name);
  llvm::Expected<func::FuncOp> entry = findEntry(*local.module, name);
  if (!entry)
    return entry.takeError();
  local.entry = *entry;
  llvm::Expected<Signature> signature = signatureOf(*entry, local.mesh);
  if (!signature)
    return signature.takeError();
  local.signature = std::move(*signature);
  return local;
}

llvm::Expected<LocalProgram> makeLocal(ModuleOp original,
                                       const CompileOptions &options) {
  if (options.update.accumulate)
    return llvm::createStringError("a step of micro-batches is two programs; "
                                   "let Program::compileSteps make them");
  llvm::Expected<ShardedModule> sharded = shardModule(original, options);
  if (!sharded)
    return sharded.takeError();
  return localOf(*sharded, std::move(sharded->module), sharded->name);
}

llvm::Error Program::lowerLocal(LocalProgram &local,
                                const CompileOptions &options) {
  impl->stage = local.stage;
  impl->mesh = local.mesh;
  impl->signature = std::move(local.signature);
  std::string name = local.entry.getName().str();
  if (failed(lower(*local.module)))
    return llvm::createStringError("the module could not be lowered");
  // A program without buffers has no arena.
  if (Operation *entry = local.module->lookupSymbol(name))
    if (auto bytes = entry->getAttrOfType<IntegerAttr>(arenaAttr))
      impl->arenaBytes = bytes.getInt();
  return compileToMachineCode(*local.module, name, options.operations)
      .moveInto(impl->compiled);
}

llvm::Expected<std::unique_ptr<Program>>
Program::compile(ModuleOp original, const CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<LocalProgram> local = makeLocal(original, options);
  if (!local)
    return local.takeError();
  std::unique_ptr<Program> program(new Program);
  if (llvm::Error error = program->lowerLocal(*local, options))
    return error;
  program->impl->compileSeconds = secondsSince(start);
  return program;
}

llvm::Expected<std::vector<std::unique_ptr<Program>>>
Program::compileSteps(ModuleOp original, const CompileOptions &options) {
  std::vector<std::unique_ptr<Program>> programs;
  if (!options.update.accumulate) {
    programs.emplace_back();
    if (llvm::Error error =
            compile(original, options).moveInto(programs.back()))
      return error;
    return programs;
  }
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<ShardedModule> sharded = shardModule(original, options);
  if (!sharded)
    return sharded.takeError();
  for (StringRef suffix : {"_accumulate", "_update"}) {
    llvm::Expected<LocalProgram> local = localOf(
        *sharded, sharded->module->clone(), sharded->name + suffix.str());
    if (!local)
      return local.takeError();
    std::unique_ptr<Program> program(new Program);
    if (llvm::Error error = program->lowerLocal(*local, options))
      return error;
    program->impl->compileSeconds = secondsSince(start);
    start = std::chrono::steady_clock::now();
    programs.push_back(std::move(program));
  }
  return programs;
}

} // namespace cp
