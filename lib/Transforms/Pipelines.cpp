//===- Pipelines.cpp - The passes in order ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shard/AssignLayouts.h"
#include "Shard/PrepareCuts.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// To the program of one rank
//===----------------------------------------------------------------------===//

void addOpeningPasses(OpPassManager &manager) {
  manager.addPass(createDenseConstants());
  manager.addPass(createDecompose());
}

void addResidualPass(OpPassManager &functions,
                     const ResidualOptions &residuals) {
  if (residuals.limit == 0)
    return;
  PlanResidualsOptions plan;
  plan.limit = residuals.limit;
  plan.exchanges = residuals.exchanges;
  functions.addPass(createPlanResiduals(plan));
}

/// What is computed and exchanged twice is so once, unless memory is wanted.
/// Forward and backward apart exchange apart: what the forward pass sends must
/// not wait for gradients.
static void addSharingPasses(OpPassManager &manager,
                             const ResidualOptions &residuals, bool split) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCSEPass());
  functions.addPass(createNarrowGathers());
  if (split) {
    addResidualPass(functions, residuals);
    manager.addPass(createSplitBackward());
  }
  OpPassManager &halves = manager.nest<func::FuncOp>();
  halves.addPass(createMergeExchanges());
  halves.addPass(createHoistReductions());
  if (!split)
    addResidualPass(halves, residuals);
  halves.addPass(createExplainCollectives());
}

void buildPartitionPipeline(OpPassManager &manager,
                            const ResidualOptions &residuals, bool split) {
  manager.addPass(createUnifyMeshes());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createSimplifyReshards());
  functions.addPass(createVerifyLayouts());
  functions.addPass(createPartition());
  functions.addPass(createLowerReshards());
  addSharingPasses(manager, residuals, split);
}

static void addShardPasses(OpPassManager &manager,
                           std::unique_ptr<Pass> assignLayouts, bool expose,
                           const ResidualOptions &residuals, bool split) {
  addOpeningPasses(manager);
  if (expose)
    manager.nest<func::FuncOp>().addPass(createNumberValues());
  manager.nest<func::FuncOp>().addPass(std::move(assignLayouts));
  if (expose)
    manager.nest<func::FuncOp>().addPass(createExposeValues());
  buildPartitionPipeline(manager, residuals, split);
}

static void addUpdatePass(OpPassManager &functions,
                          const UpdateOptions &update) {
  if (update.optimizer == Optimizer::None)
    return;
  AddUpdateOptions step;
  step.optimizer = update.optimizer;
  step.beta1 = update.beta1;
  step.beta2 = update.beta2;
  step.eps = update.eps;
  step.weightDecay = update.weightDecay;
  if (update.accumulate)
    step.count = update::count.str();
  functions.addPass(createAddUpdate(step));
}

/// `prepareCuts` may be null, for nothing that is cut.
static void addGlobalGradientPasses(OpPassManager &manager,
                                    std::unique_ptr<Pass> prepareCuts,
                                    const DifferentiateOptions &options,
                                    const UpdateOptions &update) {
  addOpeningPasses(manager);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (prepareCuts)
    functions.addPass(std::move(prepareCuts));
  functions.addPass(createDifferentiate(options));
  if (update.accumulate)
    functions.addPass(createAccumulate());
  addUpdatePass(functions, update);
}

void buildGlobalGradientPipeline(OpPassManager &manager,
                                 const std::optional<Sharding> &sharding,
                                 const DifferentiateOptions &options,
                                 const UpdateOptions &update) {
  addGlobalGradientPasses(manager,
                          sharding ? createPrepareCuts(*sharding) : nullptr,
                          options, update);
}

void buildLocalGradientPipeline(OpPassManager &manager,
                                const DifferentiateOptions &options,
                                const ResidualOptions &residuals, bool split) {
  manager.nest<func::FuncOp>().addPass(createDifferentiate(options));
  addSharingPasses(manager, residuals, split);
}

void buildShardPipeline(OpPassManager &manager,
                        const ShardPipelineOptions &options) {
  bool isAsked = options.gradients != GradientsFrom::None,
       isLocal = options.differentiate == DifferentiatedView::Local;
  DifferentiateOptions differentiate;
  differentiate.cotangents = options.gradients == GradientsFrom::Cotangents;
  UpdateOptions update = {options.optimizer,   options.beta1,
                          options.beta2,       options.eps,
                          options.weightDecay, options.accumulate};
  if (isAsked && !isLocal)
    addGlobalGradientPasses(manager, createPrepareCuts(options), differentiate,
                            update);
  else if (update.optimizer != Optimizer::None)
    // Of a program that has them; without it says so.
    addUpdatePass(manager.nest<func::FuncOp>(), update);
  // Of a local program the backward pass comes later.
  ResidualOptions residuals = {options.memory, options.recomputeExchanges};
  bool isLater = isAsked && isLocal;
  addShardPasses(manager, createAssignLayouts(options), options.expose,
                 isLater ? ResidualOptions() : residuals,
                 options.split && !isLater);
  if (isLater)
    buildLocalGradientPipeline(manager, differentiate, residuals,
                               options.split);
  if (options.accumulate)
    manager.addPass(createSplitUpdate());
}

void buildShardPipeline(OpPassManager &manager, const Sharding &sharding,
                        bool expose, const ResidualOptions &residuals,
                        bool split) {
  addShardPasses(manager, createAssignLayouts(textOf(sharding)), expose,
                 residuals, split);
}

//===----------------------------------------------------------------------===//
// To the LLVM dialect
//===----------------------------------------------------------------------===//

/// Arithmetic on elements of any type becomes what processors have.
static void addElementPasses(OpPassManager &kernels) {
  arith::ArithEmulateUnsupportedFloatsOptions inFloat;
  inFloat.sourceTypeStrs = {"bf16"};
  inFloat.targetTypeStr = "f32";
  kernels.addPass(arith::createArithEmulateUnsupportedFloats(inFloat));
  kernels.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(createExpandElementwise());
}

void buildLowerPipeline(OpPassManager &manager, const LowerOptions &options) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createConvertToCalls());
  functions.addPass(createConvertElementwiseToLinalgPass());
  functions.addPass(createLinalgElementwiseOpFusionPass());
  functions.addPass(createSplitSums());
  functions.addPass(createPrepareEntry());
  functions.addPass(createElideBuffers());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  if (options.overlap)
    manager.nest<func::FuncOp>().addPass(createOverlapExchanges());
  manager.nest<func::FuncOp>().addPass(createPlanMemory());
  manager.addPass(createOutlineKernels());
  if (options.device) {
    manager.addPass(createEmitDeviceKernels());
    OpPassManager &onDevice = manager.nest<ModuleOp>().nest<func::FuncOp>();
    addElementPasses(onDevice);
    ApproximateMathOptions all;
    all.all = true;
    onDevice.addPass(createApproximateMath(all));
    onDevice.addPass(createSCFToControlFlowPass());
  }
  OpPassManager &kernels = manager.nest<func::FuncOp>();
  kernels.addPass(createConvertLinalgToLoopsPass());
  kernels.addPass(createLowerAffinePass());
  addElementPasses(kernels);
  kernels.addPass(createApproximateMath());
  kernels.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertToRuntime());
  // Powers of integers, and to them, are loops.
  ConvertMathToFuncsOptions powers;
  powers.minWidthOfFPowIExponent = 1;
  powers.convertCtlz = false;
  manager.addPass(createConvertMathToFuncs(powers));
  // Of 1 + x nothing is left of what is small.
  ConvertMathToLLVMPassOptions intrinsics;
  intrinsics.approximateLog1p = false;
  manager.addPass(createConvertMathToLLVMPass(intrinsics));
  // What LLVM has no intrinsic for.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

namespace {
/// Those of LowerOptions, as options of `Base` too.
template <typename Base> struct WithLowerOptions : Base {
  template <typename T> using Option = typename Base::template Option<T>;
  Option<bool> overlap{*this, "overlap",
                       llvm::cl::desc("See cp-overlap-exchanges"),
                       llvm::cl::init(false)};
  Option<bool> device{*this, "device",
                      llvm::cl::desc("See cp-emit-device-kernels"),
                      llvm::cl::init(false)};
  LowerOptions lowering() const { return {overlap, device}; }
};

/// Of `cp-lower-pipeline`.
struct NoShardOptions : PassPipelineOptions<NoShardOptions> {};
using LowerPipelineOptions = WithLowerOptions<NoShardOptions>;
using WholePipelineOptions = WithLowerOptions<ShardPipelineOptions>;
} // namespace

/// What options of a pipeline ask for that others rule out, or that would do
/// nothing; empty where all go together.
static std::string misfitOf(const ShardPipelineOptions &options) {
  auto isGiven = [](const llvm::cl::Option &option) {
    return option.getNumOccurrences() > 0;
  };
  bool steps = options.optimizer != Optimizer::None;
  // Others go with gradients that a program has already.
  if (options.gradients == GradientsFrom::None &&
      isGiven(options.differentiate))
    return "differentiate says how gradients are derived; give gradients=loss "
           "or gradients=cotangents too, or leave it out";
  if (steps && options.split)
    return "split gives gradients by a function of their own, and an optimizer "
           "takes them up; leave one of split and optimizer out";
  if (steps && options.differentiate == DifferentiatedView::Local)
    return "an optimizer takes up gradients of whole tensors; give "
           "differentiate=global with it";
  if (options.partialGradients &&
      (steps || options.differentiate == DifferentiatedView::Local))
    return "partial-gradients is of gradients of whole tensors that the caller "
           "adds up; give differentiate=global with it, and no optimizer, or "
           "leave it out";
  for (const llvm::cl::Option *option :
       std::initializer_list<const llvm::cl::Option *>{
           &options.beta1, &options.beta2, &options.eps, &options.weightDecay,
           &options.accumulate})
    if (!steps && isGiven(*option))
      return (option->ArgStr +
              " is about steps of an optimizer; give optimizer=sgd or "
              "optimizer=adamw too, or leave it out")
          .str();
  if (options.recomputeExchanges && options.memory == 0)
    return "recompute-exchanges is about what memory makes again; give "
           "memory=BYTES too, or leave it out";
  return "";
}

/// As PassPipelineRegistration, of options that have to go together.
template <typename Options>
static void registerChecked(StringRef name, StringRef description,
                            void (*build)(OpPassManager &, const Options &)) {
  registerPassPipeline(
      name, description,
      [build, name](OpPassManager &manager, StringRef text,
                    function_ref<LogicalResult(const Twine &)> fail) {
        Options options;
        if (failed(options.parseFromString(text)))
          return failure();
        if (std::string misfit = misfitOf(options); !misfit.empty())
          return fail(name + ": " + misfit);
        build(manager, options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(Options());
      });
}

void registerPipelines() {
  registerChecked<ShardPipelineOptions>(
      "cp-shard-pipeline", "From whole tensors to the program of one rank",
      [](OpPassManager &manager, const ShardPipelineOptions &options) {
        buildShardPipeline(manager, options);
      });
  PassPipelineRegistration<LowerPipelineOptions>(
      "cp-lower-pipeline", "From the program of one rank to the LLVM dialect",
      [](OpPassManager &manager, const LowerPipelineOptions &options) {
        buildLowerPipeline(manager, options.lowering());
      });
  registerChecked<WholePipelineOptions>(
      "cp-pipeline", "cp-shard-pipeline, then cp-lower-pipeline",
      [](OpPassManager &manager, const WholePipelineOptions &options) {
        buildShardPipeline(manager, options);
        buildLowerPipeline(manager, options.lowering());
      });
}

} // namespace cp
