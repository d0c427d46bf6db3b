//===- Participant.h - What a rank brings to a collective -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_THREADS_PARTICIPANT_H
#define CP_LIB_RUNTIME_THREADS_PARTICIPANT_H

#include "Core/Counters.h"
#include "Core/Descriptor.h"

#include <atomic>
#include <cstdint>

namespace cp::runtime {

/// What a rank brings; must stay where it is until the rank has left. On cache
/// lines of its own: peers read it while the rank writes what lies beside it.
struct alignas(64) Participant {
  const Descriptor *call = nullptr;
  Counter *counter = nullptr;
  /// Memory that peers may read as far as `progress` says it is ready.
  const char *staged = nullptr;
  std::atomic<uint64_t> progress{0};
  /// The least progress that a parked rank waits for; changes under the mutex.
  std::atomic<uint64_t> awaited{UINT64_MAX};
  /// Events of its device's queue, that others of the device wait for: behind
  /// all that is read of this rank, and behind all that it reads of others.
  void *isReady = nullptr, *hasRead = nullptr;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_THREADS_PARTICIPANT_H
