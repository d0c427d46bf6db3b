//===- Team.h - The threads that share a kernel's work ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel cuts its work into items of which no result depends on another or on
// who does it, so the number of threads never changes a bit. Each thread of the
// team runs the same function once, with scratch of its own, and takes items
// until none is left.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_TEAM_H
#define CP_KERNELS_CPU_TEAM_H

#include <atomic>
#include <cstdint>

namespace cp::kernels {

/// How many threads the caller's kernels may use, itself included.
int64_t numThreads();

/// Items 0, 1, ..., handed out in ascending order, each once.
class Items {
public:
  Items(int64_t count, int64_t threads) : count(count), threads(threads) {}
  /// Stores the next item; false when there is none left.
  bool take(int64_t &item);
  /// Several items that follow each other: at most `most`, and fewer towards
  /// the end, so that threads end together (Polychronopoulos and Kuck, "Guided
  /// self-scheduling", 1987). Returns how many there are from `first` on; 0
  /// when none is left.
  int64_t takeSome(int64_t most, int64_t &first);

private:
  const int64_t count, threads;
  std::atomic<int64_t> next{0};
};

/// Work that is worth a thread of its own, in multiply-adds or in bytes moved:
/// about as long as it takes to wake one.
constexpr int64_t leastShare = int64_t(1) << 18;

/// What every thread of a team does: null, or what went wrong.
using ShareFn = const char *(*)(void *work, Items &items);

/// Runs `fn(work, items)` on the caller's threads, itself among them, or on the
/// caller alone where `count` items of altogether `cost` are not worth more, or
/// where it is itself part of such work. Returns when all are done: null, or
/// the message of one that failed. What the threads' scratch allocates counts
/// as the caller's.
const char *share(int64_t count, int64_t cost, ShareFn fn, void *work);

/// The same for a function object, `const char *(Items &)`.
template <typename Fn>
[[gnu::always_inline]] inline const char *share(int64_t count, int64_t cost,
                                                Fn fn) {
  return share(
      count, cost,
      [](void *work, Items &items) {
        return (*static_cast<Fn *>(work))(items);
      },
      &fn);
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_TEAM_H
