//===- SessionImpl.h - What a session consists of ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_SESSIONIMPL_H
#define CP_LIB_EXECUTION_SESSIONIMPL_H

#include "DeviceParts.h"
#include "RankWorld.h"
#include "cp/Execution/Session.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace cp {

struct Session::Impl {
  struct Argument {
    TensorSpec spec;
    /// By a result of a program.
    bool isUpdated = false;
    /// What all ranks read, or null; `parts` then are empty.
    const HostTensor *shared = nullptr;
    /// By rank; empty for those of other processes.
    std::vector<HostTensor> parts;
    DeviceParts onDevice;

    /// What is set of it for a rank.
    const HostTensor &of(int64_t rank) const {
      return shared ? *shared : parts[size_t(rank)];
    }
  };
  struct Bound {
    const Program *program;
    /// Numbers of arguments.
    std::vector<size_t> arguments;
    /// Per result one part a rank (an empty one for those of other processes);
    /// none of those that update an argument.
    std::vector<std::vector<HostTensor>> results;
    /// Of each result.
    std::vector<DeviceParts> onDevice;
    std::vector<std::vector<void *>> tables;
  };

  llvm::Error add(const Program &program);
  llvm::Expected<size_t> find(llvm::StringRef name) const;
  llvm::Error neverSet(const Argument &argument) const;
  llvm::Error set(size_t number, const HostTensor &whole, bool mayShare);
  llvm::Error set(size_t number, const TensorView &whole,
                  llvm::function_ref<void()> release);
  llvm::Expected<HostTensor> get(size_t number);
  using PartOfRank = llvm::function_ref<llvm::ArrayRef<uint8_t>(int64_t rank)>;
  llvm::Error stream(const TensorSpec &spec, PartOfRank partOf,
                     std::optional<PutBytes> put) const;
  /// Of the last step's, one that updates no argument.
  llvm::Expected<size_t> findResult(llvm::StringRef name) const;
  llvm::Error step(size_t number);
  /// Of the last step; of one that updates an argument what that is now.
  llvm::Expected<HostTensor> result(size_t number);
  /// Each rank's part of an argument, or of a result of the last step. All
  /// processes call them.
  llvm::Expected<std::vector<HostTensor>> partsOfArgument(size_t number);
  llvm::Expected<std::vector<HostTensor>> partsOfResult(size_t number);
  /// Those of all results.
  llvm::Error keepParts(RunResult &result);
  /// Brings what a step has left on devices of an argument, and of a result of
  /// the last one, to the host.
  llvm::Error fetchArgument(size_t number);
  llvm::Error fetchResult(size_t number);

  std::vector<Argument> arguments;
  std::vector<Bound> programs;
  /// By name.
  llvm::StringMap<size_t> numbers;
  /// The program of the last step, or null.
  Bound *last = nullptr;
  double seconds = 0;
  int64_t pieceBytes = 0;
  /// Last: its threads use all of the above.
  std::unique_ptr<RankWorld> world;

private:
  llvm::Expected<size_t> addArgument(const TensorSpec &spec,
                                     llvm::StringSet<> &own);
  void fillTable(Bound &bound, int64_t rank);
  /// That the tensors of each rank here, and what its program works on, fit its
  /// device; before the first step.
  llvm::Error checkDevice(const Bound &bound) const;
  /// Brings arguments to devices, with room for results beside them.
  llvm::Error sendToDevices(Bound &bound);
  /// Notes what a step has written there.
  void noteOnDevices(const Bound &bound);
  /// Those of other processes too, which are put into `gathered`.
  llvm::Expected<llvm::ArrayRef<HostTensor>>
  allParts(const TensorSpec &spec, llvm::ArrayRef<HostTensor> parts,
           std::vector<HostTensor> &gathered) const;
  llvm::Expected<HostTensor> whole(const TensorSpec &spec,
                                   llvm::ArrayRef<HostTensor> parts) const;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_SESSIONIMPL_H
