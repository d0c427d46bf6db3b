//===- Team.cpp - The threads that share a kernel's work ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Team.h"

#include "FlushToZero.h"
#include "Kernels.h"
#include "Scratch.h"
#include "Wait.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cp::kernels {

namespace {

/// Kernels of one program follow each other closely: longer than the gap
/// between two of them, and short against what a parked thread would cost.
constexpr std::chrono::microseconds spinTime{100};

/// The work of one round.
struct Job {
  ShareFn fn;
  void *work;
  Items *items;
};

/// The threads beside their owner. They look for a new round for a while, then
/// park.
class Team {
public:
  explicit Team(int64_t size);
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  ~Team();

  /// Fewer than asked for where the system has no more threads.
  int64_t size() const { return int64_t(threads.size()) + 1; }
  /// One round on the owner and all others.
  const char *run(const Job &next);

private:
  /// One more thread, or false where the system has none.
  bool start();
  void loop();
  void work();
  void begin();
  template <typename IsOver> void await(IsOver isOver);
  void wake();

  std::vector<std::thread> threads;
  Job job = {};
  std::atomic<uint64_t> round{0};
  std::atomic<int64_t> busy{0}, allocations{0};
  std::atomic<const char *> failure{nullptr};
  std::atomic<bool> isOver{false};
  /// Parked threads, the owner among them.
  std::atomic<int64_t> parked{0};
  std::mutex mutex;
  std::condition_variable changed;
};

} // namespace

Team::Team(int64_t size) {
  threads.reserve(size_t(size));
  // Where the system has no more threads or memory, fewer do the same work.
  while (this->size() < size)
    if (!start())
      return;
}

bool Team::start() {
  try {
    threads.emplace_back([this] { loop(); });
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

Team::~Team() {
  isOver = true;
  begin();
  for (std::thread &thread : threads)
    thread.join();
}

void Team::begin() {
  ++round;
  wake();
}

/// A thread that is about to park has said so before it looks for the last
/// time: either it sees the change, or this sees the thread.
void Team::wake() {
  if (parked == 0)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  changed.notify_all();
}

template <typename IsOver> void Team::await(IsOver isOver) {
  if (spin(spinTime, isOver))
    return;
  std::unique_lock<std::mutex> lock(mutex);
  ++parked;
  changed.wait(lock, isOver);
  --parked;
}

void Team::loop() {
  // As its owner does while it runs a kernel.
  FlushToZero scope;
  for (uint64_t next = 1;; ++next) {
    await([&] { return round >= next; });
    if (isOver)
      return;
    int64_t before = numScratchAllocations();
    work();
    allocations += numScratchAllocations() - before;
    if (--busy == 0)
      wake();
  }
}

void Team::work() {
  if (const char *message = job.fn(job.work, *job.items))
    failure = message;
}

const char *Team::run(const Job &next) {
  job = next;
  failure = nullptr;
  busy = int64_t(threads.size());
  begin();
  work();
  await([&] { return busy == 0; });
  countScratchAllocations(allocations.exchange(0));
  return failure;
}

static thread_local int64_t wanted = 1;
/// Whether the thread's team is at work already.
static thread_local bool isShared = false;

/// The calling thread's, made anew when it wants another number.
static Team &team() {
  static thread_local std::unique_ptr<Team> mine;
  static thread_local int64_t made = 0;
  if (!mine || made != wanted) {
    mine.reset();
    mine = std::make_unique<Team>(wanted);
    made = wanted;
  }
  return *mine;
}

void setNumThreads(int64_t threads) {
  constexpr int64_t most = 1024;
  wanted = std::clamp<int64_t>(threads, 1, most);
}

int64_t numThreads() { return wanted; }

bool Items::take(int64_t &item) {
  item = next.fetch_add(1, std::memory_order_relaxed);
  return item < count;
}

int64_t Items::takeSome(int64_t most, int64_t &first) {
  first = next.load(std::memory_order_relaxed);
  for (;;) {
    int64_t left = count - first;
    if (left <= 0)
      return 0;
    int64_t share = threads > 1 ? left / (2 * threads) : left;
    int64_t taken = std::clamp<int64_t>(share, 1, most);
    if (next.compare_exchange_weak(first, first + taken,
                                   std::memory_order_relaxed))
      return taken;
  }
}

const char *share(int64_t count, int64_t cost, ShareFn fn, void *work) {
  if (isShared || wanted == 1 || count < 2 || cost < 2 * leastShare) {
    Items items(count, 1);
    return fn(work, items);
  }
  Items items(count, wanted);
  Team &mine = team();
  isShared = true;
  const char *message = mine.run({fn, work, &items});
  isShared = false;
  return message;
}

} // namespace cp::kernels
