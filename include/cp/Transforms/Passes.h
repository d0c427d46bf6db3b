//===- Passes.h - The passes and pipelines ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_PASSES_H
#define CP_TRANSFORMS_PASSES_H

#include "cp/Transforms/Gradients.h"
#include "cp/Transforms/Residuals.h"
#include "cp/Transforms/Sharding.h"
#include "cp/Transforms/Update.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace cp {

#define GEN_PASS_DECL
#include "cp/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "cp/Transforms/Passes.h.inc"

/// Options of `cp-shard-pipeline` and `cp-pipeline`.
struct ShardPipelineOptions : mlir::PassPipelineOptions<ShardPipelineOptions> {
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("Axes and sizes, e.g. dp=2,cp=4"),
                           llvm::cl::init("cp=1")};
  Option<std::string> axis{*this, "axis",
                           llvm::cl::desc("The axes that cut the sequence"),
                           llvm::cl::init("cp")};
  Option<std::string> order{
      *this, "order",
      llvm::cl::desc("contiguous, zigzag, striped, striped:UNIT, "
                     "zigzag_per_document or contiguous_per_document"),
      llvm::cl::init("contiguous")};
  Option<std::string> batch{*this, "batch",
                            llvm::cl::desc("The axes that cut the batch"),
                            llvm::cl::init("")};
  Option<std::string> mixer{*this, "mixer",
                            llvm::cl::desc("hidden, sequence or 2d"),
                            llvm::cl::init("sequence")};
  Option<std::string> attention{*this, "attention",
                                llvm::cl::desc("ulysses, ring, gather or 2d"),
                                llvm::cl::init("ring")};
  Option<std::string> tensorAxis{
      *this, "tp", llvm::cl::desc("The axis of tensor parallelism"),
      llvm::cl::init("")};
  Option<bool> tensorRows{
      *this, "tp-rows",
      llvm::cl::desc("Cut rows between projections over that axis too"),
      llvm::cl::init(false)};
  Option<std::string> params{
      *this, "params",
      llvm::cl::desc("The axes that cut parameters where they are kept"),
      llvm::cl::init("")};
  Option<std::string> scan{
      *this, "scan",
      llvm::cl::desc("chain, gather, doubling, pipelined or transposed"),
      llvm::cl::init("chain")};
  Option<bool> replicateUnused{
      *this, "replicate-unused",
      llvm::cl::desc("Let ranks along an axis that cuts nothing do the same"),
      llvm::cl::init(false)};
  Option<bool> partialGradients{
      *this, "partial-gradients",
      llvm::cl::desc("Leave the gradients of parameters as each rank's terms"),
      llvm::cl::init(false)};
  Option<GradientsFrom> gradients{
      *this, "gradients", llvm::cl::desc("Derive gradients (cp-differentiate)"),
      llvm::cl::init(GradientsFrom::None),
      llvm::cl::values(
          clEnumValN(GradientsFrom::None, "none", "no gradients"),
          clEnumValN(GradientsFrom::Loss, "loss", "of the result loss"),
          clEnumValN(GradientsFrom::Cotangents, "cotangents",
                     "by a cotangent of each result"))};
  Option<DifferentiatedView> differentiate{
      *this, "differentiate",
      llvm::cl::desc("Which program the gradients are derived on"),
      llvm::cl::init(DifferentiatedView::Global),
      llvm::cl::values(
          clEnumValN(DifferentiatedView::Global, "global",
                     "whole tensors, before they are cut"),
          clEnumValN(DifferentiatedView::Local, "local",
                     "the program of one rank, with its exchanges"))};
  Option<Optimizer> optimizer{
      *this, "optimizer",
      llvm::cl::desc("Steps in place of gradients (cp-add-update)"),
      llvm::cl::init(Optimizer::None),
      llvm::cl::values(clEnumValN(Optimizer::None, "none", "gradients"),
                       clEnumValN(Optimizer::Sgd, "sgd", "cp.sgd"),
                       clEnumValN(Optimizer::Adamw, "adamw", "cp.adamw"))};
  Option<double> beta1{*this, "beta1", llvm::cl::desc("See cp-add-update"),
                       llvm::cl::init(0.9)};
  Option<double> beta2{*this, "beta2", llvm::cl::desc("See cp-add-update"),
                       llvm::cl::init(0.999)};
  Option<double> eps{*this, "eps", llvm::cl::desc("See cp-add-update"),
                     llvm::cl::init(1e-8)};
  Option<double> weightDecay{*this, "weight-decay",
                             llvm::cl::desc("See cp-add-update"),
                             llvm::cl::init(0.0)};
  Option<bool> accumulate{
      *this, "accumulate",
      llvm::cl::desc("A step takes several micro-batches (cp-accumulate, "
                     "cp-split-update)"),
      llvm::cl::init(false)};
  Option<int64_t> memory{
      *this, "memory",
      llvm::cl::desc(
          "Bytes of a rank's tensors at one time, for which residuals "
          "are computed again (cp-plan-residuals); 0: no limit"),
      llvm::cl::init(0)};
  Option<bool> recomputeExchanges{
      *this, "recompute-exchanges",
      llvm::cl::desc("With memory: what has travelled may travel again"),
      llvm::cl::init(false)};
  Option<bool> split{*this, "split",
                     llvm::cl::desc("Forward and backward as two functions "
                                    "(cp-split-backward)"),
                     llvm::cl::init(false)};
  Option<bool> expose{
      *this, "expose",
      llvm::cl::desc("Return what every op computes (cp-expose-values)"),
      llvm::cl::init(false)};
};

/// cp-prepare-cuts with these options.
std::unique_ptr<mlir::Pass> createPrepareCuts(const Sharding &sharding);

/// From whole tensors to the program of one rank: decompose, assign layouts,
/// unify meshes, simplify, verify, partition, lower reshards, merge exchanges.
/// Where gradients are asked for, one of the two pipelines below comes before
/// or behind it.
void buildShardPipeline(mlir::OpPassManager &manager,
                        const ShardPipelineOptions &options);
/// The same, with `expose` and `split` as there.
void buildShardPipeline(mlir::OpPassManager &manager, const Sharding &sharding,
                        bool expose = false,
                        const ResidualOptions &residuals = {},
                        bool split = false);

/// The part of it after the layouts are chosen. With `split` forward and
/// backward become two functions (cp-split-backward).
void buildPartitionPipeline(mlir::OpPassManager &manager,
                            const ResidualOptions &residuals = {},
                            bool split = false);

/// From whole tensors to whole tensors and their gradients, before
/// buildShardPipeline: decompose, prepare what `sharding` will cut (nothing
/// where there is none), differentiate, and end with the step of `update`.
void buildGlobalGradientPipeline(mlir::OpPassManager &manager,
                                 const std::optional<Sharding> &sharding,
                                 const DifferentiateOptions &options = {},
                                 const UpdateOptions &update = {});

/// From the program of one rank to the one that has its gradients too, behind
/// buildShardPipeline or buildPartitionPipeline: differentiate, and share what
/// both passes compute and exchange.
void buildLocalGradientPipeline(mlir::OpPassManager &manager,
                                const DifferentiateOptions &options = {},
                                const ResidualOptions &residuals = {},
                                bool split = false);

/// What comes before all else with a module of whole tensors:
/// cp-dense-constants and cp-decompose.
void addOpeningPasses(mlir::OpPassManager &manager);

/// cp-plan-residuals with these options, where there is a limit.
void addResidualPass(mlir::OpPassManager &functions,
                     const ResidualOptions &residuals);

struct LowerOptions {
  /// Sums over ranks go on while a rank computes, and parameters are gathered a
  /// layer ahead (cp-overlap-exchanges). Takes the memory of a layer's more.
  bool overlap = false;
  /// Token-wise loops are kernels for a device too (cp-emit-device-kernels).
  bool device = false;
};

/// The module, in one that was lowered for a device, with its kernels, and the
/// constant that is to hold their code.
inline constexpr llvm::StringLiteral deviceModuleName = "cp_device";
inline constexpr llvm::StringLiteral deviceCodeName = "cp_device_code";

/// From the program of one rank (or from a function that was never sharded) to
/// the LLVM dialect: calls, bufferization, outlining, runtime.
void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerOptions &options = {});

/// Registers cp-shard-pipeline, cp-lower-pipeline and cp-pipeline.
void registerPipelines();

/// What cp-verify-layouts checks; see Passes.td.
llvm::LogicalResult verifyLayouts(mlir::FunctionOpInterface function);

/// The same as an analysis, so that a pass that needs it does not do it again
/// when nothing has changed. Made on a function; emits errors when it is made.
struct LayoutVerification {
  explicit LayoutVerification(mlir::Operation *op);
  bool succeeded;
};

/// The dialects that the passes make or need, and the models of interfaces on
/// them; what an embedder adds to its registry.
void registerAllDialects(mlir::DialectRegistry &registry);
void registerAllExtensions(mlir::DialectRegistry &registry);
/// All passes and pipelines of this project.
void registerAllPasses();

} // namespace cp

#endif // CP_TRANSFORMS_PASSES_H
