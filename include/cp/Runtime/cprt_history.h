//===- cprt_history.h - What a rank has done lately --------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C11. Each rank keeps its last collectives, when they began and how long
// they took: a timeline of a step and, when ranks wait for each other in vain,
// where each of them is.
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_CPRT_HISTORY_H
#define CP_RUNTIME_CPRT_HISTORY_H

#include "cp/Runtime/cprt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many collectives of a rank are kept.
#define CPRT_HISTORY_LENGTH 1024

/// One collective of a rank.
typedef struct cprt_record {
  /// "all_to_all", "halo", ...; static storage.
  const char *op;
  /// Bit i stands for mesh axis i.
  uint64_t axes;
  /// Of the call in the program.
  int64_t id;
  /// Among all collectives of the rank since its world was made, from 0 on.
  int64_t number;
  /// When it began, in seconds of a clock that all processes of a machine share
  /// and that never goes back.
  double start;
  /// How long the rank took part; below 0 while it does, and of one that failed
  /// and so came to no end: what follows is then 0, or as far as is known.
  /// Where only a device waits for others (cprt_device.h), its thread's part.
  double seconds;
  /// In which it did nothing else, as of cprt_counter; of a deferred one, in
  /// which it waited for it.
  double exposed_seconds;
  /// Bytes that went from this rank to others.
  int64_t bytes_sent;
  /// 1 if the rank went on beside it (cprt_begin).
  int32_t is_deferred;
} cprt_record;

/// Writes the last collectives of a rank, by their numbers and at most
/// `capacity`, and returns how many are kept; of all its steps, whatever became
/// of its counters. For any thread at any time, also while the rank is inside a
/// call, but not for a signal's handler. Ranks that are alone in their group
/// make none, and calls with ids below 0 are left out.
size_t cprt_context_history(const cprt_context *context, cprt_record *out,
                            size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* CP_RUNTIME_CPRT_HISTORY_H */
