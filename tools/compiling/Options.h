//===- Options.h - What the compiler is asked for ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_COMPILING_OPTIONS_H
#define CP_TOOLS_COMPILING_OPTIONS_H

#include "RunFlags.h"
#include "cp/Transforms/Passes.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// What is compared with one rank: nothing, results, what every op computes.
enum class Check { None, Results, Each };

/// What the user asked for.
struct Options : RunFlags {
  std::string entry;
  /// Nothing: as many as the mesh has.
  std::optional<int64_t> ranks;
  std::string mesh;
  /// How to shard over it; its own mesh is not in use, and its mixer may be
  /// empty.
  ShardingText sharding;
  /// "next_token", or empty.
  std::string loss;
  bool withGradients = false;
  DifferentiatedView differentiate = DifferentiatedView::Global;
  Check check = Check::None;
  bool explain = false;
  /// Where the program is written, in place of a run; and the processor that it
  /// is for.
  std::string emit, targetCpu;
  /// Nothing: one program. Else forward and backward, with gradients by
  /// parameters and by these arguments.
  std::optional<std::vector<std::string>> vjp;
  /// Whether gradients are summed meanwhile.
  bool overlap = false;
  bool traceTokens = false;
  /// The flags of the command line that say how to shard, such as "--order".
  std::vector<std::string> shardingFlags;
};

/// Flags for the module and how it is sharded.
void defineModule(Options &options, llvm::cl::OptionCategory &category);
/// The latter alone, of tools that have a word of their own for the module.
void defineSharding(Options &options, llvm::cl::OptionCategory &category);
/// Those for a loss and its gradients.
void defineLoss(Options &options, llvm::cl::OptionCategory &category);
/// Those for a program that is written to a file.
void defineFile(Options &options, llvm::cl::OptionCategory &category);
/// Notes which of the tool's flags for sharding the command line had.
void noteSharding(Options &options);

/// Joins the job that --transport names, if it does (joinJob). Its processes
/// are the ranks, unless these are given. Errors: options that go with no job.
llvm::Error joinAsRanks(Options &options, const char *program);

/// The mesh asked for: --mesh, or one axis "cp" of --ranks. Nothing when
/// neither is given. Errors: a mesh that is none, --ranks that is not its size.
llvm::Expected<std::optional<Mesh>> meshFrom(const Options &options);

/// The mesh of one rank that has the axes "ring,u".
Mesh oneRank(llvm::StringRef axes);

} // namespace cp

#endif // CP_TOOLS_COMPILING_OPTIONS_H
