//===- RunFlags.h - What a run is asked for ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_RUNFLAGS_H
#define CP_TOOLS_RUNNING_RUNFLAGS_H

#include "Flags.h"

#include "cp/Execution/Memory.h"
#include "cp/Execution/Transport.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cp {

/// What the user asked of a run, however its program was made.
struct RunFlags {
  /// The tool, as it is called: what messages begin with.
  std::string tool;
  /// The file that holds the model or the program.
  std::string model;
  std::string inputs;
  /// Rows of any length, in place of inputs.
  std::string rows;
  std::string weights;
  bool ignoreUnusedWeights = false;
  std::string saveWeights;
  std::string outputs;
  /// Whether there is a loss of next tokens, and so an argument `labels`.
  bool hasLoss = false;
  /// Ids of the tokens that come next; empty: the inputs, one further.
  std::string labels;
  /// Where gradients are written; empty: nowhere.
  std::string gradients;
  std::string report;
  /// Where the last collectives of each rank go; empty: nowhere.
  std::string timeline;
  /// Files that a check reads.
  std::string reference, checkAgainst;
  /// Of a check; nothing: by the type of the results.
  std::optional<double> tolerance;
  std::string kernels = "fast";
  bool quiet = false;
  uint64_t seed = 0;
  /// What the run may take in bytes; 0: what the machine has available.
  int64_t maxMemory = 0;
  int64_t deadlineMs = 0, threads = 0;
  int repeats = 1;
  /// What carries messages between processes; empty: ranks are threads.
  std::string transport;
  /// The same, loaded, or null.
  std::shared_ptr<Transport> job;
  /// Where ranks have their tensors; empty: in the host's memory.
  std::string device;
  /// Whether the host computes what it has no kernel for.
  bool deviceFallback = false;
  /// Whether steps are recorded there.
  bool deviceGraphs = false;
  /// The same, loaded, or null.
  std::shared_ptr<Device> loadedDevice;
  /// For tests of failures: the rank that fails, or stalls, before it starts.
  int64_t failRank = -1;
  int64_t stallRank = -1;
  /// For tests: RunOptions::pieceBytes.
  int64_t pieceBytes = RunOptions().pieceBytes;

  /// What the command line had behind the tool's name.
  std::vector<std::string> arguments;

  /// Whether this process says and writes what there is to be said: one of a
  /// job does.
  bool speaks() const { return !job || job->rank() == 0; }
};

/// Flags for the weights that a run starts from and ends with.
void defineWeights(RunFlags &flags, llvm::cl::OptionCategory &category);
/// Flags for what a run reads and writes, weights among it.
void defineData(RunFlags &flags, llvm::cl::OptionCategory &category);
/// Those for its ranks, and what they may take.
void defineWorld(RunFlags &flags, llvm::cl::OptionCategory &category);
/// Those for how it goes, the ranks' among them.
void defineRunning(RunFlags &flags, llvm::cl::OptionCategory &category);
/// The flag --transport, which is among the ranks'.
void defineTransport(RunFlags &flags, llvm::cl::OptionCategory &category);

/// The first of these flags that the command line has, or nothing.
std::optional<llvm::StringRef>
firstGiven(llvm::ArrayRef<llvm::StringRef> flags);

/// Refuses flags of a run, where something else happens `instead`: "--emit runs
/// nothing".
llvm::Error refuseGiven(llvm::StringRef instead,
                        llvm::ArrayRef<llvm::StringRef> flags);
/// Refuses recorded steps where none is started again; of forward runs.
llvm::Error checkGraphs(const RunFlags &flags);

/// Refuses numbers and words that no run can use.
llvm::Error checkRunFlags(const RunFlags &flags);

/// Joins the job that --transport names, if it does; `program` is argv[0].
/// Errors: no such transport; what it says.
llvm::Error joinJob(RunFlags &flags, const char *program);

/// Loads the device that --device names, if it does. Errors: no such device;
/// what it says.
llvm::Error openDevice(RunFlags &flags, const char *program);

/// Tells the other processes of a job, which would wait for this one, that it
/// ends before it has begun.
void decline(const RunFlags &flags, const std::string &why);
/// Ends a tool: says what went wrong, to them too. 1.
int fail(const RunFlags &flags, llvm::Error error);

/// What they ask of the runtime on so many ranks. The number of threads is
/// given, so that a report can name it. Errors: of a job, a file that this
/// process cannot read.
llvm::Expected<RunOptions> runOptions(const RunFlags &flags, int64_t ranks);

/// Fails when what a run holds at once is more than the machine has available,
/// or than --max-memory.
llvm::Error checkMemory(const MemoryUse &needed, const RunFlags &flags);
/// What this process needs: of a job no more than its rank.
MemoryUse needHere(const MemoryNeed &need, const RunFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_RUNFLAGS_H
