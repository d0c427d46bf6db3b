//===- PeakRows.cpp - The roofline of this machine ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyRate.h"
#include "Memory.h"
#include "PeakLoops.h"
#include "Rows.h"
#include "Timing.h"

#include <atomic>
#include <thread>

namespace cp::bench {
namespace {

/// A peak must not be understated: the best of so many repetitions counts.
constexpr int repetitions = 12;

/// Seconds in which `threads` threads, all there before it starts, have done
/// work(thread).
template <typename Fn> double secondsTogether(int64_t threads, Fn &&work) {
  std::atomic<int64_t> waiting{threads};
  std::vector<double> starts(static_cast<size_t>(threads)), ends(starts);
  std::vector<std::thread> running;
  for (int64_t thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      --waiting;
      while (waiting.load() > 0)
        std::this_thread::yield();
      starts[size_t(thread)] = now();
      work(thread);
      ends[size_t(thread)] = now();
    });
  for (std::thread &thread : running)
    thread.join();
  return *std::max_element(ends.begin(), ends.end()) -
         *std::min_element(starts.begin(), starts.end());
}

llvm::Expected<double> fmaPeak(bool isNarrow, const Question &q) {
  int64_t threads = q.integer("threads", 1);
  if (llvm::Error error = q.check())
    return error;
  constexpr int64_t rounds = 200'000;
  double best = 0;
  std::atomic<float> sink;
  for (const PeakLoop &loop : peakLoops()) {
    if (loop.isNarrow != isNarrow)
      continue;
    for (int i = 0; i < repetitions; ++i) {
      double seconds = secondsTogether(
          threads, [&](int64_t) { sink.store(loop.run(rounds)); });
      best =
          std::max(best, double(threads) * rounds * loop.operations / seconds);
    }
  }
  if (best > 0)
    return best;
  return llvm::createStringError("this processor has no multiply-adds of bf16");
}

llvm::Expected<double> copyPeak(const Question &q) {
  int64_t threads = q.integer("threads", 1);
  size_t bytes = size_t(q.integer("megabytes", 256)) << 20;
  if (llvm::Error error = q.check())
    return error;
  Memory from = allocate(bytes), to = allocate(bytes);
  std::fill_n(static_cast<char *>(from.get()), bytes, 1);
  std::fill_n(static_cast<char *>(to.get()), bytes, 2);
  return copyRate(to.get(), from.get(), bytes, threads);
}

} // namespace

double copyRate(void *to, const void *from, size_t bytes, int64_t threads) {
  size_t part = bytes / size_t(threads) / 64 * 64;
  auto *target = static_cast<char *>(to);
  const auto *source = static_cast<const char *>(from);
  double best = 0;
  for (CopyFn copy : copyLoops())
    for (int i = 0; i < repetitions; ++i) {
      double seconds = secondsTogether(threads, [&](int64_t thread) {
        size_t offset = size_t(thread) * part;
        copy(target + offset, source + offset, part);
      });
      best = std::max(best, 2.0 * double(part) * double(threads) / seconds);
    }
  return best;
}

void addPeakRows(RowTable &rows) {
  rows["fma-f32"] = [](const Question &q) { return fmaPeak(false, q); };
  rows["fma-bf16"] = [](const Question &q) { return fmaPeak(true, q); };
  rows["copy"] = copyPeak;
}

} // namespace cp::bench
