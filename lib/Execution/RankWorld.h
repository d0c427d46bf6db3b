//===- RankWorld.h - The ranks of one process -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_RANKWORLD_H
#define CP_LIB_EXECUTION_RANKWORLD_H

#include "RankThreads.h"
#include "cp/Execution/Program.h"

#include <map>

namespace cp {

/// A world of the runtime, and one thread for each of its ranks that are in
/// this process: all of them, or one.
class RankWorld {
public:
  /// `program` tells programs apart, for processes that should run one. Errors:
  /// what the runtime or the transport says against the options; no thread for
  /// each rank.
  static llvm::Expected<std::unique_ptr<RankWorld>>
  create(const Mesh &mesh, const RunOptions &options, uint64_t program);

  ~RankWorld();

  int64_t numRanks() const { return cprt_world_size(world.get()); }
  /// Those of this process, ascending.
  llvm::ArrayRef<int64_t> ranksHere() const { return here; }
  bool hasAll() const { return int64_t(here.size()) == numRanks(); }

  /// What every rank has, from what this process's has, which is of as many
  /// bytes on each. All processes call it. Errors as of a step.
  llvm::Expected<std::vector<Bytes>> gather(llvm::ArrayRef<uint8_t> mine) const;

  /// The pointers that a rank's entry function gets.
  using TableOfRank = std::function<llvm::ArrayRef<void *>(int64_t rank)>;
  /// All ranks call the entry function with the buffers of `table(rank)`;
  /// returns the seconds. A rank that beforeRank keeps from it fails, though it
  /// may be only after the others are done. Errors: what each rank that failed
  /// says; then no step runs any more.
  llvm::Expected<double> step(EntryFn function, TableOfRank table);

  /// What each rank here that failed says; success where none has.
  llvm::Error failures() const;
  /// Lets the ranks here fail.
  void fail(const std::string &why);

  /// Of the ranks of this process in the last step.
  int64_t numAllocations() const;
  /// Of all ranks; all processes call it.
  llvm::Expected<std::vector<CollectiveCount>> counts() const;
  /// The most so far, by rank; all processes call it.
  llvm::Expected<std::vector<int64_t>> peakBytes() const;
  /// Of each step, what the rank took that took longest; this process's own
  /// where it has all ranks.
  llvm::Expected<std::vector<double>>
  ofSlowest(std::vector<double> seconds) const;

  /// Whether ranks have their tensors on a device.
  bool hasDevice() const { return device != nullptr; }
  /// What the device of a rank here may still give it; -1 if unknown.
  int64_t freeBytes(int64_t rank) const;
  /// Memory there of a rank here, which lives as long as this, and copies to it
  /// and from it. Errors as of a step.
  llvm::Expected<void *> allocate(int64_t rank, int64_t bytes);
  llvm::Error upload(int64_t rank, void *to, llvm::ArrayRef<uint8_t> from);
  llvm::Error download(int64_t rank, llvm::MutableArrayRef<uint8_t> to,
                       const void *from);

private:
  RankWorld() = default;
  void run(int64_t rank);
  /// By op and axes.
  using Counts = std::map<std::pair<std::string, uint64_t>, CollectiveCount>;
  llvm::Error gatherCounts(Counts &counts) const;
  std::vector<std::string> namesOf(uint64_t axes) const;
  RankHistory historyOf(int64_t rank) const;
  cprt_context *context(int64_t rank) const {
    return cprt_world_context(world.get(), rank);
  }

  struct Deleter {
    void operator()(cprt_world *world) const { cprt_world_destroy(world); }
  };
  /// Outlives the world.
  std::shared_ptr<Device> device;
  std::unique_ptr<cprt_world, Deleter> world;
  Mesh mesh;
  std::vector<int64_t> here;
  std::function<bool(int64_t, cprt_context *)> beforeRank;
  bool recordsSteps = false;
  std::function<void(llvm::ArrayRef<RankHistory>)> onEnd;
  /// Of the step that runs.
  EntryFn function = nullptr;
  TableOfRank table;
  std::vector<char> ran;
  /// Last: its threads use all of the above.
  std::unique_ptr<RankThreads> threads;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_RANKWORLD_H
