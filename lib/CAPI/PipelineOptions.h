//===- PipelineOptions.h - Options from C -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_CAPI_PIPELINEOPTIONS_H
#define CP_LIB_CAPI_PIPELINEOPTIONS_H

#include "cp-c/Registration.h"
#include "cp/Transforms/Passes.h"

namespace cp {

/// Reads them into `pipeline`, which has its defaults; fails for a word that is
/// none to choose from, which is told on stderr.
llvm::LogicalResult readOptions(const CpShardPipelineOptions &options,
                                ShardPipelineOptions &pipeline);

} // namespace cp

#endif // CP_LIB_CAPI_PIPELINEOPTIONS_H
