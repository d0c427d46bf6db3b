//===- RecordedPrograms.h - Programs that a device keeps --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_RECORDEDPROGRAMS_H
#define CP_UNITTESTS_RUNTIME_RECORDEDPROGRAMS_H

#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

namespace cp::test::recorded {

/// What the programs below know beside their buffers; set before they run.
inline int64_t numRanks = 1;
inline std::atomic<int> numRuns = 0;
/// How many of its calls a program makes, and whether its first is another one.
inline std::atomic<int> numCalls = 3;
inline std::atomic<bool> isOther = false;

/// Buffers of a program: a number, two sums of it over its runs, one number a
/// rank, their sums over its runs, and the number 1 as an integer.
enum { One, Sum, Other, All, Total, Micro, NumBuffers };

/// A table that stays, one for equal words, as those of compiled programs.
inline const int64_t *constant(std::vector<int64_t> words) {
  static std::mutex mutex;
  static std::set<std::vector<int64_t>> all;
  std::lock_guard<std::mutex> lock(mutex);
  return all.insert(std::move(words)).first->data();
}

/// `sum` += `one`, of as many numbers.
inline void add(cprt_context *context, void *const *buffers, int one, int sum) {
  int64_t count = one == One ? 1 : numRanks;
  // grad, sum, micro_batch: updated.
  const int64_t *words =
      constant({3, 1, 0, 7, CPRT_F32, 1, count, 1, CPRT_F32, 1, count, 1,
                CPRT_I64, 0, CPRT_F32, 1, count, 1});
  void *all[] = {buffers[one], buffers[sum], buffers[Micro], buffers[sum]};
  cprt_accumulate(context, nullptr, words, all);
}

inline const int64_t *gatherWords() {
  return constant({1, 1, 4, 3, CPRT_F32, 1, 1, 1, CPRT_F32, 1, numRanks, 1,
                   /*axes=*/1, 0, /*dim=*/0, /*order=*/0});
}

inline void runAlone(cprt_context *context, cprt_stream *,
                     void *const *buffers) {
  ++numRuns;
  for (int call = 0; call < numCalls; ++call)
    add(context, buffers, One, Sum);
}

inline void runTogether(cprt_context *context, cprt_stream *,
                        void *const *buffers) {
  ++numRuns;
  add(context, buffers, One, Sum);
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, All, Total);
}

/// Two exchanges behind each other, and the only piece at the end.
inline void runBehind(cprt_context *context, cprt_stream *,
                      void *const *buffers) {
  ++numRuns;
  void *exchanged[] = {buffers[One], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, All, Total);
}

/// Adds while numbers travel.
inline void runBeside(cprt_context *context, cprt_stream *,
                      void *const *buffers) {
  ++numRuns;
  add(context, buffers, One, Sum);
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_begin(context, nullptr, gatherWords(), exchanged, cprt_all_gather);
  add(context, buffers, One, Other);
  const int64_t outs[] = {0, 1, 0, -1, 0, 1, numRanks, 1};
  cprt_wait(context, nullptr, outs, &exchanged[1]);
  add(context, buffers, All, Total);
}

/// Brings another number over in its midst.
inline void runWithHost(cprt_context *context, cprt_stream *,
                        void *const *buffers) {
  ++numRuns;
  for (float number : {1.0F, 10.0F}) {
    cprt_upload(context, buffers[One], &number, sizeof number);
    add(context, buffers, One, Sum);
  }
}

/// From its second run on.
inline void runInNewMemory(cprt_context *context, cprt_stream *,
                           void *const *buffers) {
  add(context, buffers, One, Sum);
  void *block = ++numRuns > 1 ? cprt_alloc(context, 64) : nullptr;
  add(context, buffers, One, Sum);
  cprt_free(context, block);
}

inline void copy(cprt_context *context, void *from, void *to) {
  const int64_t *words = constant({1, 1, 0, 7, 0, 1, 1, 1, 0, 1, 1, 1});
  void *both[] = {from, to};
  cprt_copy(context, nullptr, words, both);
}

/// By way of the arena.
template <int64_t Bytes>
void runInArena(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  void *there[NumBuffers];
  std::copy(buffers, buffers + NumBuffers, there);
  there[Sum] = cprt_arena(context, Bytes);
  copy(context, buffers[Sum], there[Sum]);
  add(context, there, One, Sum);
  copy(context, there[Sum], buffers[Sum]);
}

/// Gathers behind so many calls, unless there are none.
inline void runElsewhere(cprt_context *context, cprt_stream *none,
                         void *const *buffers) {
  if (isOther)
    copy(context, buffers[One], buffers[Sum]);
  else
    add(context, buffers, One, Sum);
  runAlone(context, none, buffers);
  if (numCalls > 0)
    runBehind(context, none, buffers);
}

inline void runInTwo(cprt_context *context, void *const *buffers,
                     const std::function<void()> &between) {
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, One, Sum);
  between();
  add(context, buffers, One, Sum);
}

/// The host waits in the midst of its first two runs, or of all behind these.
template <bool Early>
void runWithPause(cprt_context *context, cprt_stream *, void *const *buffers) {
  runInTwo(context, buffers, [&, runs = ++numRuns] {
    if ((runs <= 2) == Early)
      cprt_synchronize(context);
  });
}

/// From its third run on.
inline void runWithBlock(cprt_context *context, cprt_stream *,
                         void *const *buffers) {
  runInTwo(context, buffers, [&, runs = ++numRuns] {
    if (runs > 2)
      cprt_free(context, cprt_alloc(context, 64));
  });
}

/// Exchanges numbers of the host's, which are behind the other buffers.
inline void runOnHost(cprt_context *context, cprt_stream *,
                      void *const *buffers) {
  cprt_on_host(context, cprt_all_gather, gatherWords(), buffers + NumBuffers);
  add(context, buffers, One, Sum);
}

/// Fails in its second run.
inline void runToAnEnd(cprt_context *context, cprt_stream *,
                       void *const *buffers) {
  add(context, buffers, One, Sum);
  if (++numRuns == 2)
    cprt_context_fail(context, CPRT_INVALID_ARGUMENT, "no more");
  add(context, buffers, One, Sum);
}

} // namespace cp::test::recorded

#endif // CP_UNITTESTS_RUNTIME_RECORDEDPROGRAMS_H
