//===- TrainOptions.h - The command line of cp-train ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_TRAINOPTIONS_H
#define CP_TOOLS_CPTRAIN_TRAINOPTIONS_H

#include "OptimizerFlags.h"
#include "Options.h"
#include "ReadModel.h"
#include "TrainFlags.h"

namespace cp {

struct TrainOptions : TrainFlags {
  /// The model, its ranks and weights, as cp-run takes them.
  Options run;
  ModelSizes sizes;
  OptimizerFlags optimizer;
  bool overlap = false;
};

/// Exits with a message when the line cannot be read.
TrainOptions parseTrainOptions(int argc, char **argv);

/// Refuses numbers that no training can use.
llvm::Error checkTrainOptions(const TrainOptions &options);

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TRAINOPTIONS_H
