//===- Registration.h - Dialect, passes and pipelines from C ------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11, in the manner of mlir-c. Nothing here owns what it is given.
//
//===----------------------------------------------------------------------===//

#ifndef CP_C_REGISTRATION_H
#define CP_C_REGISTRATION_H

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the cp dialect, the dialects its passes make, and the models of
/// interfaces on all of them. To be called before a context is made of the
/// registry, or followed by mlirContextAppendDialectRegistry.
MLIR_CAPI_EXPORTED void cpRegisterAllDialects(MlirDialectRegistry registry);

/// Registers all passes and pipelines of this project with the process, for
/// mlirParsePassPipeline and mlirOpPassManagerAddPipeline. Again is harmless.
MLIR_CAPI_EXPORTED void cpRegisterAllPasses(void);

/// The options of cp-shard-pipeline; an empty string means its default, and so
/// does all of them zero.
typedef struct CpShardPipelineOptions {
  /// Axes and sizes, such as "dp=2,cp=4".
  MlirStringRef mesh;
  /// The axes that cut the sequence, major to minor, such as "cp" or "ring,u".
  MlirStringRef axis;
  /// The order in which ranks hold the tokens: "contiguous", "zigzag",
  /// "striped", "striped:UNIT", "zigzag_per_document" or
  /// "contiguous_per_document".
  MlirStringRef order;
  /// The axes that cut the batch, major to minor; by default there are none.
  MlirStringRef batch;
  /// "hidden", "sequence" or "2d".
  MlirStringRef mixer;
  /// "ring", "ulysses", "gather" or "2d".
  MlirStringRef attention;
  /// The axis of tensor parallelism; by default there is none.
  MlirStringRef tensorAxis;
  /// Whether that cuts the rows between projections too.
  bool tensorRows;
  /// The axes that cut parameters where they are kept, such as "dp"; by default
  /// there are none.
  MlirStringRef params;
  /// "chain", "gather", "doubling", "pipelined" or "transposed".
  MlirStringRef scan;
  /// What gradients are derived from: "none", "loss" (the result of that name)
  /// or "cotangents" (an argument for each result).
  MlirStringRef gradients;
  /// Which program they are derived on: "global" (whole tensors, before they
  /// are cut) or "local" (that of one rank, with its exchanges).
  MlirStringRef differentiate;
  /// What becomes of the gradients: "none" (they are results), "sgd" or "adamw"
  /// (cp-add-update).
  MlirStringRef optimizer;
  /// Of adamw; 0 for 0.9, 0.999 and 1e-8.
  double beta1, beta2, eps;
  double weightDecay;
  /// Whether a step takes several micro-batches, and so becomes two functions
  /// (cp-accumulate, cp-split-update).
  bool accumulate;
  /// Bytes of a rank's tensors at one time, for which residuals are computed
  /// again (cp-plan-residuals); 0: no limit.
  int64_t memory;
  /// Whether what has travelled may then travel again.
  bool recomputeExchanges;
  /// Whether forward and backward become two functions (cp-split-backward).
  bool split;
  /// Whether the program also returns what every op computes
  /// (cp-expose-values).
  bool expose;
  /// Whether ranks along an axis over which nothing is cut may all do the same
  /// work; otherwise such an axis is an error.
  bool replicateUnused;
  /// Whether gradients of parameters stay each rank's terms, which the caller
  /// adds up.
  bool partialGradients;
  /// Of a session, which lowers too: as of CpLowerPipelineOptions.
  bool overlap;
} CpShardPipelineOptions;

/// Appends the passes from whole tensors to the program of one rank. A wrong
/// `gradients`, `differentiate` or `optimizer` is told on stderr; nothing is
/// appended then, and this fails. Any other wrong option is an error when the
/// passes run.
MLIR_CAPI_EXPORTED MlirLogicalResult cpBuildShardPipeline(
    MlirOpPassManager manager, const CpShardPipelineOptions *options);

/// The options of cp-lower-pipeline; zero is the default of each.
typedef struct CpLowerPipelineOptions {
  /// Whether what nothing waits for travels while ranks compute: sums of
  /// gradients, and gathered parameters a layer ahead (cp-overlap-exchanges).
  bool overlap;
  /// Whether token-wise loops are code for cards too.
  bool device;
} CpLowerPipelineOptions;

/// Appends the passes from the program of one rank to the LLVM dialect; null
/// means the defaults.
MLIR_CAPI_EXPORTED void
cpBuildLowerPipeline(MlirOpPassManager manager,
                     const CpLowerPipelineOptions *options);

#ifdef __cplusplus
}
#endif

#endif /* CP_C_REGISTRATION_H */
