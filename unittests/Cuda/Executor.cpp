//===- Executor.cpp - Blocks of a kernel without a card -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace cp::kernels::cuda::exec {

static thread_local int64_t numLaunches = 0, numRepairs = 0;
static thread_local Watcher *watching = nullptr;
static thread_local std::string lastMessage;

int thread() { return currentBlock().running; }
int block(int dimension) { return int(currentBlock().position[dimension]); }
int rankInCluster() { return isRunning() ? currentBlock().rank : 0; }
void *shared() { return currentBlock().base; }
void barrier(int line) { currentBlock().barrier(line); }
void collect(Part &mine, int line) { currentBlock().collect(mine, line); }
void note(const void *address, size_t bytes, bool isWrite, int line) {
  currentBlock().note(address, bytes, isWrite, line);
}

void warpBarrier(int line) {
  struct Pass : Part {
    void together(Part *const (&)[lanes]) override {
      currentBlock().passWarpBarrier();
    }
  } mine;
  collect(mine, line);
}

uint32_t vote(bool value, int line) {
  struct Vote : Part {
    bool value;
    uint32_t all = 0;
    void together(Part *const (&parts)[lanes]) override {
      uint32_t bits = 0;
      for (int i = 0; i < lanes; ++i)
        bits |= uint32_t(static_cast<Vote &>(*parts[i]).value) << i;
      for (Part *part : parts)
        static_cast<Vote &>(*part).all = bits;
    }
  } mine;
  mine.value = value;
  collect(mine, line);
  return mine.all;
}

void copy(void *to, const void *from, size_t bytes, bool valid, int line) {
  note(to, bytes, true, line);
  if (reinterpret_cast<uintptr_t>(to) % bytes ||
      reinterpret_cast<uintptr_t>(from) % bytes)
    currentBlock().wrong("a copy of " + std::to_string(bytes) +
                         " bytes in line " + std::to_string(line) +
                         " is not aligned");
  Copy copy = {to, bytes, {}};
  if (valid)
    std::memcpy(copy.content, from, bytes);
  if (valid && watching)
    watching->read(from, bytes);
  std::memset(to, 0xff, bytes);
  currentBlock().thisThread().copies.back().push_back(copy);
}

void commitCopies() { currentBlock().thisThread().copies.emplace_back(); }

void waitCopies(int groups) {
  std::vector<std::vector<Copy>> &copies = currentBlock().thisThread().copies;
  while (int(copies.size()) - 1 > groups) {
    for (const Copy &copy : copies.front())
      copy.arrive();
    copies.erase(copies.begin());
  }
}

const char *run(const char *op, GridSize grid, int threads, size_t sharedBytes,
                const std::function<void()> &body) {
  ++numLaunches;
  std::mt19937_64 random{uint64_t(numLaunches)};
  lastMessage.clear();
  if (grid.cluster > mostBlocksOfACluster || grid.x % grid.cluster)
    lastMessage = std::string(op) + ": " + std::to_string(grid.x) +
                  " blocks are not clusters of " + std::to_string(grid.cluster);
  Cluster cluster(grid.cluster, threads, sharedBytes);
  for (int64_t z = 0; z < grid.z; ++z)
    for (int64_t y = 0; y < grid.y; ++y)
      for (int64_t x = 0; x < grid.x && lastMessage.empty();
           x += grid.cluster) {
        if (std::string text = cluster.run({x, y, z}, body, random);
            !text.empty())
          lastMessage = std::string(op) + ": " + text;
        if (watching)
          watching->blocksEnd();
      }
  return lastMessage.empty() ? nullptr : lastMessage.c_str();
}

int64_t launches() { return numLaunches; }

void noteRepair() { ++numRepairs; }
int64_t repairs() { return numRepairs; }

void watchBy(Watcher *watcher) { watching = watcher; }
Watcher *watcher() { return watching; }

} // namespace cp::kernels::cuda::exec
