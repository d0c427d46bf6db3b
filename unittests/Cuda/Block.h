//===- Block.h - A block that the executor runs -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_BLOCK_H
#define CP_UNITTESTS_CUDA_BLOCK_H

#include "Executor.h"
#include "Fiber.h"
#include "SharedShadow.h"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace cp::kernels::cuda::exec {

enum class State { Ready, AtWarp, AtBlock, AtCluster, AtArrivals, Done };

/// Bytes that are on their way to shared memory.
struct Copy {
  void *to;
  size_t bytes;
  unsigned char content[16];

  void arrive() const { std::memcpy(to, content, bytes); }
};

/// What stands for an mbarrier: of its present phase what was announced and
/// what has been started, and what came in the phases before it that nobody has
/// waited for.
struct ArrivalsState {
  bool isAnnounced = false, parity = false;
  int64_t expected = 0, started = 0;
  std::vector<Copy> onTheirWay, there;

  /// A phase ends with the last byte that was announced.
  void endPhase();
};

struct Thread {
  Fiber fiber;
  State state = State::Ready;
  /// Where it waits, and, of arrivals, for what.
  int line = 0;
  const ArrivalsState *arrivals = nullptr;
  bool parity = false;
  /// How often it has come to the cluster's barrier, and has passed it.
  uint32_t clusterArrivals = 0, clusterPasses = 0;
  /// Groups of copies that have not been waited for, the oldest first; the last
  /// one is still being filled.
  std::vector<std::vector<Copy>> copies = std::vector<std::vector<Copy>>(1);
  /// Of a warpgroup's products that have not been waited for: what each d will
  /// be, and, as of copies, the groups that have one.
  std::map<float *, std::vector<float>> products;
  /// Whether it has passed a fence since it waited for any.
  bool hasBegun = false;
  std::vector<std::vector<float *>> productGroups =
      std::vector<std::vector<float *>>(1);
};

struct Warp {
  Part *parts[lanes] = {};
  int arrived = 0, line = 0;
  /// The line, a, b and whether it adds of each product of its warpgroup that
  /// it has taken part in since the last barrier.
  std::vector<std::tuple<int, uint64_t, uint64_t, bool>> products;
};

class Cluster;

class Block {
public:
  Block(Cluster &cluster, int rank, int threads, size_t sharedBytes);

  /// Sets all threads to the start of `body`, which must outlive their run.
  void start(const GridSize &at, const std::function<void()> &body);
  /// Goes on with a thread; whether it could.
  bool enter(int thread);
  bool hasEnded() const { return ended == threads.size(); }

  void barrier(int line);
  void collect(Part &mine, int line);
  void note(const void *address, size_t size, bool isWrite, int line);
  /// This thread's warp takes part in a product of its warpgroup.
  void noteProduct(int line, uint64_t a, uint64_t b, bool adds);
  void passWarpBarrier() { shadow.passWarpBarrier(running / lanes); }
  void arriveAtCluster(int line);
  void waitForCluster(int line);
  /// The same place in this block as `address` is in `other`.
  void *placeOf(const void *address, const Block &other) const;
  /// Bytes that a thread of the cluster copies here from now on.
  void bring(void *to, const void *from, size_t bytes, ArrivalsState &arrivals,
             const Thread &by, int line);
  ArrivalsState &arrivalsAt(const void *address, int line);
  void setArrivals(const void *address, int line);
  void waitForArrivals(const void *address, bool parity, int line);
  [[noreturn]] void wrong(std::string text);
  Thread &thisThread() { return threads[size_t(running)]; }
  /// At its end: "", or what was copied here that nobody waited for.
  std::string leftOver();
  /// Where its threads wait.
  void tellWaits(std::string &text) const;

  Cluster &cluster;
  const int rank;
  int running = 0;
  int64_t position[3] = {};
  unsigned char *base;
  size_t bytes;

private:
  friend class Cluster;
  void wait(State state, int line) {
    thisThread().state = state;
    thisThread().line = line;
    thisThread().fiber.leave();
  }
  bool isWithin(const void *address, size_t size) const;
  /// "", or that the warps of a warpgroup have not had the same products, or
  /// waited for them elsewhere.
  std::string compareProducts();

  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<unsigned char> memory;
  SharedShadow shadow;
  std::map<const void *, ArrivalsState> arrivals;
  const std::function<void()> *body = nullptr;
  size_t atBarrier = 0, ended = 0;
  int barrierLine = 0;
};

/// Blocks that run at once; mostly one.
class Cluster {
public:
  Cluster(int blocks, int threads, size_t sharedBytes);

  /// "" or what went wrong.
  std::string run(const GridSize &first, const std::function<void()> &body,
                  std::mt19937_64 &random);
  int size() const { return int(blocks.size()); }
  Block &block(int rank) { return *blocks[size_t(rank)]; }
  /// One more thread has come to the cluster's barrier.
  void arrive();
  uint32_t passes() const { return numPasses; }

  /// The first misfit.
  std::string message;

private:
  std::string stuck() const;
  std::string leftOver() const;

  std::vector<std::unique_ptr<Block>> blocks;
  size_t arrived = 0, threads;
  uint32_t numPasses = 0;
};

/// The one that runs.
Block &currentBlock();
/// Whether there is one.
bool isRunning();

/// Behind it there is none.
struct WhileItRuns {
  WhileItRuns() = default;
  WhileItRuns(const WhileItRuns &) = delete;
  WhileItRuns &operator=(const WhileItRuns &) = delete;
  ~WhileItRuns();
};

} // namespace cp::kernels::cuda::exec

#endif // CP_UNITTESTS_CUDA_BLOCK_H
