//===- TrainFlags.h - What training is asked for ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TRAINFLAGS_H
#define CP_TOOLS_RUNNING_TRAINFLAGS_H

#include "RunFlags.h"

namespace cp {

/// What the user asked of training, beside what holds for every run.
struct TrainFlags {
  std::string data;
  /// The token behind which a document ends.
  std::optional<int64_t> documentEnd;
  /// Draw the order of the windows.
  bool shuffle = false;
  int64_t steps = 100;
  /// Batches of a step.
  int64_t accumulate = 1;
  double rate = 1e-3;
  /// Steps over which the rate grows to that.
  int64_t warmup = 0;
  /// The largest norm; 0: none.
  double clip = 1;
  std::string csv;
  /// Where checkpoints are written, every so many steps (0: behind the last),
  /// and the one to go on from.
  std::string checkpoint;
  int64_t every = 0;
  std::string resume;
};

/// The flags that set them.
void defineTraining(TrainFlags &flags, llvm::cl::OptionCategory &category);

/// Refuses numbers that no training can use.
llvm::Error checkTrainFlags(const RunFlags &run, const TrainFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_TRAINFLAGS_H
