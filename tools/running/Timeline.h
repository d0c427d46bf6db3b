//===- Timeline.h - When ranks exchanged what -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TIMELINE_H
#define CP_TOOLS_RUNNING_TIMELINE_H

#include "RunFlags.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// What ranks did lately as trace events, which ui.perfetto.dev and
/// chrome://tracing show: a process for each rank, microseconds. A collective
/// that came to no end has begun ("ph": "B") and not ended.
llvm::json::Value timelineOf(llvm::ArrayRef<RankHistory> ranks);

/// The file of --timeline; each process of a job has one of its own, for rank 2
/// "step.2.json" in place of "step.json". Empty without the flag.
std::string timelineFile(const RunFlags &flags);

/// Lets a run write it when its ranks end, whatever ends them.
void keepTimeline(const RunFlags &flags, RunOptions &run);

} // namespace cp

#endif // CP_TOOLS_RUNNING_TIMELINE_H
