//===- Options.h - The command line of cp-run -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_OPTIONS_H
#define CP_TOOLS_CPRUN_OPTIONS_H

#include "cp/Execution/Transport.h"
#include "cp/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// What is compared with one rank: nothing, results, what every op computes.
enum class Check { None, Results, Each };

/// What the user asked for.
struct Options {
  std::string model;
  std::string entry;
  /// Nothing: as many as the mesh has.
  std::optional<int64_t> ranks;
  std::string mesh;
  /// How to shard over it; its own mesh is not in use, and its mixer may be
  /// empty.
  ShardingText sharding;
  std::string inputs;
  /// Rows of any length, in place of inputs.
  std::string rows;
  std::string weights;
  bool ignoreUnusedWeights = false;
  std::string saveWeights;
  std::string outputs;
  /// "next_token", or empty.
  std::string loss;
  /// Ids of the tokens that come next; empty: the inputs, one further.
  std::string labels;
  bool withGradients = false;
  DifferentiatedView differentiate = DifferentiatedView::Global;
  /// Where they are written; empty: nowhere.
  std::string gradients;
  std::string report;
  std::string checkAgainst;
  std::string kernels;
  Check check = Check::None;
  /// What a module that is sharded already is checked against.
  std::string reference;
  bool explain = false;
  /// Where the program is written, in place of a run; and the processor that it
  /// is for.
  std::string emit, targetCpu;
  /// Nothing: one program. Else forward and backward, with gradients by
  /// parameters and by these arguments.
  std::optional<std::vector<std::string>> vjp;
  bool traceTokens = false;
  bool quiet = false;
  /// Nothing: by the type of the results.
  std::optional<double> tolerance;
  uint64_t seed = 0;
  /// What the run may take in bytes; 0: what the machine has available.
  int64_t maxMemory = 0;
  int64_t deadlineMs = 0, threads = 0;
  int repeats = 1;
  /// What carries messages between processes; empty: ranks are threads.
  std::string transport;
  /// The same, loaded, or null.
  std::shared_ptr<Transport> job;

  /// Whether this process says and writes what there is to be said: one of a
  /// job does.
  bool speaks() const { return !job || job->rank() == 0; }
  /// For tests of failures: the rank that fails, or stalls, before it starts.
  int64_t failRank = -1;
  int64_t stallRank = -1;

  /// What the command line had behind the tool's name.
  std::vector<std::string> arguments;
  /// The flags among them that say how to shard, such as "--order".
  std::vector<std::string> shardingFlags;
};

/// Reads the command line; ends the process on --help or a flag that it does
/// not know.
Options parseOptions(int argc, char **argv);

/// The flag --transport, which more than one tool has.
void defineTransport(Options &options, llvm::cl::OptionCategory &category);

/// Joins the job that --transport names, if it does; `program` is argv[0]. Its
/// processes are the ranks, unless these are given. Errors: no such transport;
/// what it says.
llvm::Error joinJob(Options &options, const char *program);

/// The mesh asked for: --mesh, or one axis "cp" of --ranks. Nothing when
/// neither is given. Errors: a mesh that is none, --ranks that is not its size.
llvm::Expected<std::optional<Mesh>> meshFrom(const Options &options);

/// The mesh of one rank that has the axes "ring,u".
Mesh oneRank(llvm::StringRef axes);

} // namespace cp

#endif // CP_TOOLS_CPRUN_OPTIONS_H
