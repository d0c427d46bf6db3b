//===- Program.h - A compiled module and its runs ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_PROGRAM_H
#define CP_EXECUTION_PROGRAM_H

#include "cp/Execution/Device.h"
#include "cp/Execution/HostTensor.h"
#include "cp/Execution/TensorSpec.h"
#include "cp/Execution/Transport.h"
#include "cp/Runtime/cprt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// How far a module has come.
enum class Stage {
  /// Whole tensors, no layouts.
  Global,
  /// Whole tensors with layouts.
  WithLayouts,
  /// One rank's program.
  Local
};
/// "global", "with layouts", "local".
llvm::StringRef stageName(Stage stage);

/// One collective of a rank, as of cprt_record.
struct CollectiveRecord {
  std::string op;
  std::vector<std::string> axes;
  int64_t call = 0, number = 0;
  double start = 0;
  /// Nothing: it came to no end.
  std::optional<double> seconds;
  double exposedSeconds = 0;
  int64_t bytesSent = 0;
  bool isDeferred = false;
};

/// The last collectives of a rank, oldest first.
struct RankHistory {
  int64_t rank = 0;
  std::vector<CollectiveRecord> records;
};

struct RunOptions {
  cprt_kernel_set kernels = CPRT_KERNELS_FAST;
  int64_t deadlineMs = 0;
  /// Of each rank's kernels; 0 shares the processors between the ranks.
  int64_t threads = 0;
  int repeats = 1;
  /// Give each rank's parts of the results too.
  bool keepParts = false;
  /// Ranks are the processes of its job, one each: all of them make the same
  /// calls with the same tensors. Null: ranks are threads of this process.
  std::shared_ptr<Transport> transport;
  /// Where ranks have their tensors while they run; null: in the host's memory.
  std::shared_ptr<Device> device;
  /// Whether the host computes what the device has no kernel for.
  bool deviceFallback = false;
  /// Whether steps are recorded on a device that does so (cprt_run_recorded).
  bool deviceGraphs = false;
  /// Of what processes of a job were asked, which must be the same in all.
  uint64_t settings = 0;
  /// The most of a tensor that is on its way between processes at one time, of
  /// all ranks together, where it travels in pieces (Session::stream).
  int64_t pieceBytes = 2 << 20;
  /// Called as a session ends, behind its last step or a failure, with the
  /// ranks of this process; not where a signal ends the process. Those of other
  /// processes may wait for it to return.
  std::function<void(llvm::ArrayRef<RankHistory>)> onEnd;
  /// For tests of failures: called by each rank before its program; false makes
  /// the rank leave without running it, which fails the run.
  std::function<bool(int64_t rank, cprt_context *context)> beforeRank;
};

/// What one kind of collective moved in one step.
struct CollectiveCount {
  std::string op;
  std::vector<std::string> axes;
  int64_t calls = 0;
  std::vector<int64_t> bytesSentPerRank;
  /// In which a rank did nothing else; see cprt_counter.
  std::vector<double> exposedSecondsPerRank;
};

struct RunResult {
  std::vector<HostTensor> outputs;
  /// With keepParts: per rank one part of each result.
  std::vector<std::vector<HostTensor>> parts;
  std::vector<double> seconds;
  std::vector<CollectiveCount> collectives;
  std::vector<int64_t> peakBytesPerRank;
  /// By step, of the ranks of this process together: what
  /// cprt_context_allocations counts. A program allocates in its first step
  /// only.
  std::vector<int64_t> allocationsPerStep;
};

/// What a program says of itself.
struct ProgramDescription {
  /// What it was compiled from.
  Stage stage = Stage::Global;
  Mesh mesh;
  std::vector<TensorSpec> arguments, results;
  /// 0 for one that came from a file.
  double compileSeconds = 0;
  /// The bytes that the compiler has planned for one rank's buffers (cp.arena),
  /// beside its arguments and results.
  int64_t arenaBytes = 0;
  /// Tells programs apart: of equal ones it is equal.
  uint64_t hash = 0;
};

/// The form of an entry function; its buffers are those of cprt_entry.
using EntryFn = void (*)(cprt_context *, cprt_stream *, void *const *buffers);

/// Machine code for this process: of a compiler (compileProgram) or a file
/// (ProgramFile). Runs on threads, one a rank; for many steps see Session.h.
class Program {
public:
  /// `entry` is code that lives as long as `code`.
  Program(ProgramDescription description, EntryFn entry,
          std::shared_ptr<const void> code)
      : description(std::move(description)), code(std::move(code)),
        entryFunction(entry) {}
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  Stage stage() const { return description.stage; }
  const Mesh &mesh() const { return description.mesh; }
  llvm::ArrayRef<TensorSpec> arguments() const { return description.arguments; }
  llvm::ArrayRef<TensorSpec> results() const { return description.results; }
  double compileSeconds() const { return description.compileSeconds; }
  int64_t arenaBytes() const { return description.arenaBytes; }
  uint64_t hash() const { return description.hash; }
  EntryFn entry() const { return entryFunction; }

  /// Runs on mesh().numRanks() ranks. `inputs` are whole tensors, one for each
  /// argument, not changed: arguments that results update (`cp.updates`) are
  /// copies, which go on from step to step. Errors: an input of another type or
  /// shape; the first failure of a rank, with what each rank says.
  llvm::Expected<RunResult> run(llvm::ArrayRef<const HostTensor *> inputs,
                                const RunOptions &options) const;

private:
  ProgramDescription description;
  std::shared_ptr<const void> code;
  EntryFn entryFunction;
};

} // namespace cp

#endif // CP_EXECUTION_PROGRAM_H
