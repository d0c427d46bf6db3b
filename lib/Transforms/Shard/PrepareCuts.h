//===- PrepareCuts.h - What must be so before layouts ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PREPARECUTS_H
#define CP_LIB_TRANSFORMS_PREPARECUTS_H

#include "cp/Transforms/Passes.h"

namespace cp {

/// Writes down in the ops what they leave to the options (how states travel,
/// the form of attention), and repeats groups that several ranks share, where
/// heads will be cut. Twice is as once. Fails after an error on an op that
/// cannot be cut so.
llvm::LogicalResult prepareCuts(mlir::FunctionOpInterface function,
                                const Sharding &sharding);

/// cp-prepare-cuts with the pipeline's options.
std::unique_ptr<mlir::Pass>
createPrepareCuts(const ShardPipelineOptions &options);

/// A pass with the options that say how a program is cut.
template <typename Base> struct ShardingPass : Base {
  using Base::Base;

  /// What they say; fails after an error on what the pass runs on.
  llvm::FailureOr<Sharding> readSharding() {
    ShardingText text;
    text.mesh = this->mesh;
    text.axis = this->axis;
    text.order = this->order;
    text.batch = this->batch;
    text.mixer = this->mixer;
    text.attention = this->attention;
    text.tensorAxis = this->tensorAxis;
    text.tensorRows = this->tensorRows;
    text.params = this->params;
    text.scan = this->scan;
    text.replicateUnused = this->replicateUnused;
    text.partialGradients = this->partialGradients;
    llvm::Expected<Sharding> read = parseSharding(text);
    if (!read)
      return mlir::emitError(this->getOperation()->getLoc(),
                             llvm::toString(read.takeError()));
    return std::move(*read);
  }
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PREPARECUTS_H
