//===- World.h - A set of ranks ---------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all worlds have, however their ranks reach each other; that is for the
// room of each backend to say.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_WORLD_H
#define CP_LIB_RUNTIME_WORLD_H

#include "Context.h"

#include "cp/Layout/Mesh.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

struct cprt_world {
  cprt_world() = default;
  cprt_world(const cprt_world &) = delete;
  cprt_world &operator=(const cprt_world &) = delete;
  virtual ~cprt_world() = default;

  /// How `context`, which is at `position` of these ranks, reaches the others.
  virtual std::unique_ptr<cp::runtime::Channel>
  openChannel(cprt_context &context, const std::vector<int64_t> &ranks,
              int64_t position) = 0;

  /// Whether calls may go on while a rank makes others: on threads who takes
  /// reads, and has nothing to wait for.
  virtual bool defers() const { return false; }

  /// Whether ranks reach what the others have on their devices, for collectives
  /// that only move.
  virtual bool movesOnDevice() const { return false; }

  /// Whether a rank's device goes on behind such collectives by itself, while
  /// the rank's thread is elsewhere.
  virtual bool followsOnDevice() const { return false; }

  /// Ends every present and coming wait with `failure`; an earlier one stays.
  /// To be called with the mutex held.
  virtual void spread(cp::runtime::Failure failure) = 0;

  cp::Mesh mesh;
  cp::kernels::KernelSet kernelSet = cp::kernels::KernelSet::Fast;
  /// Of each rank's kernels.
  int64_t threads = 1;
  /// Where tensors are, or null: in the host's memory.
  const cprt_device *device = nullptr;
  /// Which of its cards the first rank of this process has, if a caller says.
  std::optional<int64_t> firstCard;
  /// A caller's memory, or null.
  const cprt_allocator *allocator = nullptr;
  /// Whether the host computes what the device has no kernel for.
  bool fallsBack = false;
  /// How long one collective may wait for its peers.
  std::chrono::milliseconds deadline{60'000};

  /// By rank; null for one that lives elsewhere.
  std::vector<std::unique_ptr<cprt_context>> contexts;

  /// Guards failures, and all that ranks do with each other beside meeting in
  /// time and copying bytes.
  std::mutex mutex;
};

#endif // CP_LIB_RUNTIME_WORLD_H
