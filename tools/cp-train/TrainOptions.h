//===- TrainOptions.h - The command line of cp-train ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_TRAINOPTIONS_H
#define CP_TOOLS_CPTRAIN_TRAINOPTIONS_H

#include "Options.h"
#include "cp/Transforms/Residuals.h"
#include "cp/Transforms/Update.h"

#include <optional>

namespace cp {

struct TrainOptions {
  /// The model, its ranks and weights, as cp-run takes them.
  Options run;
  /// Sizes and type of a model that is a configuration; 0 and empty: not given.
  int64_t batchSize = 0, sequence = 0;
  std::string dtype;
  /// The most documents of a row of it; 0: each row is one.
  int64_t documents = 0;
  std::string data;
  /// The token behind which a document ends.
  std::optional<int64_t> documentEnd;
  /// Draw the order of the windows.
  bool shuffle = false;
  int64_t steps = 100;
  /// Batches of a step.
  int64_t accumulate = 1;
  UpdateOptions update;
  double rate = 1e-3;
  /// Steps over which the rate grows to that.
  int64_t warmup = 0;
  /// The largest norm; 0: none.
  double clip = 1;
  /// Of a rank's program.
  ResidualOptions memory;
  std::string csv;
  std::string saveWeights;
  /// Where checkpoints are written, every so many steps (0: behind the last),
  /// and the one to go on from.
  std::string checkpoint;
  int64_t every = 0;
  std::string resume;
};

/// Exits with a message when the line cannot be read.
TrainOptions parseTrainOptions(int argc, char **argv);

/// Refuses numbers that no training can use.
llvm::Error checkTrainOptions(const TrainOptions &options);

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TRAINOPTIONS_H
