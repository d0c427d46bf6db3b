//===- CPDialect.h - The cp dialect -----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPDIALECT_H
#define CP_IR_CPDIALECT_H

#include "cp/IR/Cuts.h"
#include "cp/IR/RuntimeCall.h"
#include "cp/IR/ShardingRule.h"
#include "cp/IR/Transfer.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

#include "cp/IR/CPDialect.h.inc"
#include "cp/IR/CPEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "cp/IR/CPAttrs.h.inc"

namespace cp {

/// The resource that collectives read; see CPBase.td.
struct CommunicationResource
    : mlir::SideEffects::Resource::Base<CommunicationResource> {
  llvm::StringRef getName() final { return "Communication"; }
};

/// How attention is cut in this form.
CutStrategy cutStrategyOf(AttentionForm form);

/// How many rows a halo brings, and whether those behind a rank's own.
struct HaloRows {
  int64_t count = 0;
  bool isReverse = false;
};

/// The summary of a run of tokens, as a rule a decay and a state, and what the
/// second half of the scan needs again. A combined summary of earlier ranks
/// keeps nothing.
struct ScanSummary {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Value> kept;
};

/// Names of discardable attributes; CPDialect.td says what they mean.
inline constexpr llvm::StringLiteral viewAttr = "cp.view";
inline constexpr llvm::StringLiteral nameAttr = "cp.name";
inline constexpr llvm::StringLiteral paramAttr = "cp.param";
inline constexpr llvm::StringLiteral initAttr = "cp.init";
inline constexpr llvm::StringLiteral sequenceAttr = "cp.sequence";
inline constexpr llvm::StringLiteral lengthAttr = "cp.length";
inline constexpr llvm::StringLiteral layoutAttr = "cp.layout";
inline constexpr llvm::StringLiteral arenaAttr = "cp.arena";
inline constexpr llvm::StringLiteral deviceThreadsAttr = "cp.device_threads";
inline constexpr llvm::StringLiteral trainingOnlyAttr = "cp.training_only";
inline constexpr llvm::StringLiteral numberAttr = "cp.number";
inline constexpr llvm::StringLiteral recomputedAttr = "cp.recomputed";
inline constexpr llvm::StringLiteral repeatedAttr = "cp.repeated";
inline constexpr llvm::StringLiteral parallelAttr = "cp.parallel";
inline constexpr llvm::StringLiteral valueAttr = "cp.value";
inline constexpr llvm::StringLiteral residualAttr = "cp.residual";
inline constexpr llvm::StringLiteral gradientAttr = "cp.gradient";
inline constexpr llvm::StringLiteral cotangentAttr = "cp.cotangent";
inline constexpr llvm::StringLiteral updatesAttr = "cp.updates";
inline constexpr llvm::StringLiteral stateAttr = "cp.state";
inline constexpr llvm::StringLiteral accumulatesAttr = "cp.accumulates";
inline constexpr llvm::StringLiteral noDecayAttr = "cp.no_decay";

/// ScanOpInterface::advance of summaries that are a decay and a state: the
/// latter, and in front of it `before`, if that is not null, with the decay.
/// Where a sequence `mayStart` among the tokens, nothing passes a decay of -0.
mlir::Value advanceByDecay(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::ValueRange summary, mlir::Value before,
                           bool mayStart = false);

/// The float, or tensor of floats, as one of other floats.
mlir::Value withElements(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// Reads and writes the types of a cp.scan_state: `custom<ScanTypes>`.
mlir::ParseResult parseScanTypes(mlir::OpAsmParser &parser,
                                 llvm::SmallVectorImpl<mlir::Type> &summary,
                                 llvm::SmallVectorImpl<mlir::Type> &sums);
void printScanTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::TypeRange summary, mlir::TypeRange sums);

/// Reads and writes a config in braces: `custom<Config>`. `op` is not read.
mlir::ParseResult parseConfig(mlir::AsmParser &parser, ConfigAttr &config);
void printConfig(mlir::AsmPrinter &printer, mlir::Operation *op,
                 ConfigAttr config);

/// What sums of such elements are kept in: f32 for narrower ones, f64 for f64.
mlir::Type sumsOf(mlir::Type element);

/// SequenceOpInterface::canRunOn of ops that do not say otherwise.
bool canRunByDefault(mlir::Operation *op, llvm::ArrayRef<Cut> cuts);
/// The documents that places are counted in, or null where they are none of
/// `cp.positions`, whether the whole sequence's or a rank's; or null
/// themselves.
mlir::Value documentsOf(mlir::Value places);
/// Whether an op along a sequence is of no kind: no window, no scan, not
/// placed.
bool needsWholeSequence(mlir::Operation *op);

/// The named axes by their positions in the mesh, which has all of them.
std::vector<int> axisPositions(MeshAttr mesh, mlir::ArrayAttr axes);
/// The number of ranks along the named axes, all of which the mesh has.
int64_t groupSize(MeshAttr mesh, mlir::ArrayAttr axes);

/// Attaches ShardingRuleOpInterface to the arith, linalg, math and tensor ops
/// that models use.
void registerShardingRuleModels(mlir::DialectRegistry &registry);
/// Attaches bufferization to `cp.call`.
void registerBufferizationModels(mlir::DialectRegistry &registry);

} // namespace cp

#include "cp/IR/CPInterfaces.h.inc"

#define GET_OP_CLASSES
#include "cp/IR/CPOps.h.inc"

#endif // CP_IR_CPDIALECT_H
