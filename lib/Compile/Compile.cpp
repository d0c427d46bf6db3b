//===- Compile.cpp - Compiling a module for a world of ranks ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Compile.h"

#include "DeviceCode.h"
#include "Jit.h"
#include "LocalProgram.h"

#include "cp/Compile/Decisions.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <chrono>

using namespace mlir;

namespace cp {
namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// A module of whole tensors that is not to be cut. What is computed twice is
/// so once, as where it is cut.
void addWhole(PassManager &manager, const CompileOptions &options) {
  addOpeningPasses(manager);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (options.exposeValues) {
    functions.addPass(createNumberValues());
    functions.addPass(createExposeValues());
  }
  functions.addPass(createCSEPass());
  addResidualPass(functions, options.memory);
}

DifferentiateOptions byCotangents(const VectorJacobian &vjp) {
  DifferentiateOptions options;
  options.cotangents = true;
  options.wrt.assign(vjp.wrt.begin(), vjp.wrt.end());
  return options;
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
  if (options.vjp)
    buildGlobalGradientPipeline(manager, options.sharding,
                                byCotangents(*options.vjp));
  else if (options.gradients && !isLocal)
    buildGlobalGradientPipeline(
        manager, options.sharding ? options.sharding : options.preparedFor, {},
        options.update);
  if (options.sharding)
    buildShardPipeline(manager, *options.sharding, options.exposeValues,
                       isLocal ? ResidualOptions() : options.memory,
                       options.vjp.has_value());
  else
    addWhole(manager, options);
  if (options.gradients && isLocal)
    buildLocalGradientPipeline(manager, {}, options.memory);
  if (options.update.accumulate)
    manager.addPass(createSplitUpdate());
  if (options.vjp && !options.sharding)
    manager.addPass(createSplitBackward());
}

/// Gradients by parameters too.
void addParameters(func::FuncOp entry, VectorJacobian &vjp) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto name = entry.getArgAttrOfType<StringAttr>(i, paramAttr))
      vjp.wrt.push_back(name.str());
}

/// Runs the passes that bring a module of this stage to one rank's program.
LogicalResult shard(ModuleOp module, Stage stage,
                    const CompileOptions &options) {
  PassManager manager(module.getContext());
  if (stage == Stage::Global) {
    addGlobal(manager, options);
  } else if (stage == Stage::WithLayouts) {
    buildPartitionPipeline(manager, options.memory);
  } else {
    OpPassManager &functions = manager.nest<func::FuncOp>();
    // What cp-partition leaves.
    functions.addPass(createLowerReshards());
    functions.addPass(createExplainCollectives());
  }
  return manager.run(module);
}

LogicalResult lower(ModuleOp module, const CompileOptions &options) {
  PassManager manager(module.getContext());
  buildLowerPipeline(manager, {options.overlap, options.device});
  return manager.run(module);
}

/// Only the entry stays public, so that nothing else is compiled.
void keepOnly(ModuleOp module, StringRef entry) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.getName() != entry && function.isPublic())
      function.erase();
}

/// What the entry calls becomes part of it, and nothing else is left: passes
/// look at one function.
LogicalResult inlineCalls(ModuleOp module, StringRef entry) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getName() != entry)
      function.setPrivate();
  PassManager manager(module.getContext());
  // And is otherwise as it was.
  manager.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  manager.addPass(createSymbolDCEPass());
  if (failed(manager.run(module)))
    return failure();
  WalkResult left = module.walk([](func::CallOp call) {
    call.emitOpError("cannot be inlined: what it calls calls itself, is "
                     "no_inline or not here; write out what it computes");
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}

/// What no pass would say of options that go together in no program.
llvm::Error checkVectorJacobian(const CompileOptions &options, Stage stage) {
  if (!options.vjp)
    return llvm::Error::success();
  if (stage != Stage::Global)
    return llvm::createStringError(
        "forward and backward are made of whole tensors, but the module is " +
        stageName(stage) + "; give it as it was before");
  if (options.gradients || options.exposeValues ||
      options.update.optimizer != Optimizer::None)
    return llvm::createStringError(
        "forward and backward take cotangents from who calls them; ask for no "
        "gradients of a loss, no exposed values and no optimizer");
  return llvm::Error::success();
}

/// The same.
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
      " ranks, and programs are for at most " + std::to_string(most) +
      "; take a mesh of fewer");
}

} // namespace

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
  if (sharded.stage != Stage::Global)
    keepOnly(*sharded.module, sharded.name);
  else if (failed(inlineCalls(*sharded.module, sharded.name)))
    return llvm::createStringError("the module's calls could not be inlined");
  if (llvm::Error error = checkVectorJacobian(options, sharded.stage))
    return error;
  CompileOptions completed = options;
  if (completed.vjp)
    addParameters(*entry, *completed.vjp);
  if (failed(shard(*sharded.module, sharded.stage, completed)))
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
  keepOnly(*local.module, name);
  llvm::Expected<func::FuncOp> entry = findEntry(*local.module, name);
  if (!entry)
    return entry.takeError();
  local.entry = *entry;
  // Between parts of a model on several meshes another one was found.
  llvm::Expected<std::optional<Mesh>> mesh = meshOf(*entry);
  if (!mesh)
    return mesh.takeError();
  local.mesh = mesh->value_or(sharded.mesh);
  llvm::Expected<Signature> signature = signatureOf(*entry, local.mesh);
  if (!signature)
    return signature.takeError();
  local.signature = std::move(*signature);
  return local;
}

/// A program of a file may leave sums to its caller; here nobody adds them up.
static llvm::Error refuseTerms(const LocalProgram &program) {
  for (const TensorSpec &result : program.signature.results)
    if (!result.layout.partial.empty())
      return llvm::createStringError(
          "'" + result.name +
          "' is each rank's term of a sum, which has no whole tensor; add it "
          "up "
          "by a cp.reshard, leave partial-gradients out, or compile to a file "
          "(--emit) for a caller who adds them up");
  return llvm::Error::success();
}

llvm::Expected<LocalProgram> makeLocal(ModuleOp original,
                                       const CompileOptions &options) {
  if (options.update.accumulate)
    return llvm::createStringError("a step of micro-batches is two programs; "
                                   "let compileSteps make them");
  llvm::Expected<ShardedModule> sharded = shardModule(original, options);
  if (!sharded)
    return sharded.takeError();
  llvm::Expected<LocalProgram> local =
      localOf(*sharded, std::move(sharded->module), sharded->name);
  if (local)
    if (llvm::Error error = refuseTerms(*local))
      return error;
  return local;
}

static llvm::Expected<LoweredProgram>
lowerLocal(LocalProgram local, const CompileOptions &options) {
  LoweredProgram lowered;
  lowered.local = std::move(local);
  lowered.name = lowered.local.entry.getName().str();
  ModuleOp module = *lowered.local.module;
  if (failed(lower(module, options)))
    return llvm::createStringError("the module could not be lowered");
  if (llvm::Error error = compileDeviceKernels(module))
    return error;
  // A program without buffers has no arena.
  if (Operation *entry = module.lookupSymbol(lowered.name))
    if (auto bytes = entry->getAttrOfType<IntegerAttr>(arenaAttr))
      lowered.arenaBytes = bytes.getInt();
  return lowered;
}

/// All programs that are made of the entry.
static llvm::Expected<std::vector<LoweredProgram>>
lowerAll(ModuleOp original, const CompileOptions &options) {
  llvm::Expected<ShardedModule> sharded = shardModule(original, options);
  if (!sharded)
    return sharded.takeError();
  llvm::SmallVector<std::string> names = {sharded->name};
  if (options.update.accumulate)
    names = {sharded->name + "_accumulate", sharded->name + "_update"};
  else if (options.vjp)
    names = {sharded->name + "_forward", sharded->name + "_backward"};
  std::vector<LoweredProgram> programs;
  for (const std::string &name : names) {
    llvm::Expected<LocalProgram> local =
        localOf(*sharded, sharded->module->clone(), name);
    if (!local)
      return local.takeError();
    llvm::Expected<LoweredProgram> lowered =
        lowerLocal(std::move(*local), options);
    if (!lowered)
      return lowered.takeError();
    programs.push_back(std::move(*lowered));
  }
  return programs;
}

uint64_t hashOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().useLocalScope());
  return llvm::xxh3_64bits(llvm::arrayRefFromStringRef(text));
}

static int64_t arenaOf(llvm::ArrayRef<LoweredProgram> programs) {
  int64_t most = 0;
  for (const LoweredProgram &program : programs)
    most = std::max(most, program.arenaBytes);
  return most;
}

/// The same within the limit of memory. Plans go by tensors, and what
/// bufferization and the placing of buffers add is known behind them: a plan
/// that ends above is made anew for as much less.
llvm::Expected<std::vector<LoweredProgram>>
lowerPrograms(ModuleOp original, const CompileOptions &options) {
  llvm::Expected<std::vector<LoweredProgram>> programs =
      lowerAll(original, options);
  int64_t limit = options.memory.limit;
  if (!programs || limit == 0)
    return programs;
  CompileOptions tried = options;
  int64_t arena = arenaOf(*programs), least = arena;
  // Each try comes nearer; a plan that is not found by then is too near.
  constexpr int mostTries = 8;
  for (int i = 0; i < mostTries && arena > limit; ++i) {
    tried.memory.limit -= arena - limit;
    if (tried.memory.limit <= 0)
      break;
    forgetDecisions(original.getLoc());
    // That nothing is so small is said below.
    ScopedDiagnosticHandler silent(original.getContext(), [](Diagnostic &) {});
    auto smaller = lowerAll(original, tried);
    if (!smaller) {
      llvm::consumeError(smaller.takeError());
      break;
    }
    programs = std::move(smaller);
    arena = arenaOf(*programs);
    least = std::min(least, arena);
  }
  if (arena <= limit)
    return programs;
  return llvm::createStringError(
      "the program of a rank may work on " + std::to_string(limit) +
      " bytes, but the smallest that was found works on " +
      std::to_string(least) +
      "; give it as much, take more ranks or shorter sequences" +
      (options.memory.exchanges ? "" : ", or let exchanges be made again too"));
}

llvm::Expected<std::unique_ptr<Program>>
compileProgram(ModuleOp original, const CompileOptions &options) {
  if (options.update.accumulate)
    return llvm::createStringError("a step of micro-batches is two programs; "
                                   "let compileSteps make them");
  auto programs = compileSteps(original, options);
  if (!programs)
    return programs.takeError();
  return std::move(programs->front());
}

llvm::Expected<std::vector<std::unique_ptr<Program>>>
compileSteps(ModuleOp original, const CompileOptions &options) {
  if (options.vjp || (options.sharding && options.sharding->partialGradients))
    return llvm::createStringError(
        "forward and backward apart, and gradients that are each rank's terms, "
        "are for a caller of the program; let writeArtifact make it");
  auto start = std::chrono::steady_clock::now();
  auto lowered = lowerPrograms(original, options);
  if (!lowered)
    return lowered.takeError();
  llvm::CodeGenOptLevel level = options.optimize
                                    ? llvm::CodeGenOptLevel::Aggressive
                                    : llvm::CodeGenOptLevel::None;
  std::vector<std::unique_ptr<Program>> programs;
  for (LoweredProgram &part : *lowered) {
    if (llvm::Error error = refuseTerms(part.local))
      return error;
    CompiledEntry compiled;
    if (llvm::Error error = compileToMachineCode(*part.local.module, part.name,
                                                 level, options.operations)
                                .moveInto(compiled))
      return error;
    Signature &signature = part.local.signature;
    ProgramDescription description = {part.local.stage,
                                      part.local.mesh,
                                      std::move(signature.arguments),
                                      std::move(signature.results),
                                      secondsSince(start),
                                      part.arenaBytes,
                                      hashOf(*part.local.module)};
    std::shared_ptr<const void> code(std::move(compiled.jit));
    programs.push_back(std::make_unique<Program>(
        std::move(description), compiled.function, std::move(code)));
    start = std::chrono::steady_clock::now();
  }
  return programs;
}

} // namespace cp
