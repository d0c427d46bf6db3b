//===- Block.cpp - A block that the executor runs -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>

namespace cp::kernels::cuda::exec {

static thread_local Block *current = nullptr;
Block &currentBlock() { return *current; }
bool isRunning() { return current; }
WhileItRuns::~WhileItRuns() { current = nullptr; }

Block::Block(Cluster &cluster, int rank, int threads, size_t sharedBytes)
    : cluster(cluster), rank(rank), bytes(sharedBytes),
      threads(size_t(threads)), warps(size_t(threads) / lanes),
      memory(sharedBytes + alignment), shadow(threads) {
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  base = memory.data() + (alignment - address % alignment) % alignment;
}

void Block::start(const GridSize &at, const std::function<void()> &of) {
  position[0] = at.x;
  position[1] = at.y;
  position[2] = at.z;
  body = &of;
  ended = atBarrier = 0;
  std::fill(base, base + bytes, 0xff);
  shadow.reset(bytes);
  arrivals.clear();
  for (Warp &warp : warps)
    warp = {};
  for (Thread &thread : threads) {
    thread.state = State::Ready;
    thread.clusterArrivals = thread.clusterPasses = 0;
    thread.copies.assign(1, {});
    thread.products.clear();
    thread.hasBegun = false;
    thread.productGroups.assign(1, {});
    thread.fiber.start(
        [](void *self) { (*static_cast<Block *>(self)->body)(); }, this);
  }
}

bool Block::enter(int index) {
  Thread &thread = threads[size_t(index)];
  if (thread.state == State::AtArrivals &&
      thread.arrivals->parity != thread.parity)
    thread.state = State::Ready;
  if (thread.state != State::Ready)
    return false;
  current = this;
  running = index;
  if (thread.fiber.enter()) {
    thread.state = State::Done;
    ++ended;
  }
  return true;
}

void Block::wrong(std::string text) {
  if (cluster.message.empty())
    cluster.message = std::move(text);
  // The launch is given up: nobody comes back to this fiber.
  for (;;)
    wait(State::AtBlock, 0);
}

void Block::barrier(int line) {
  if (atBarrier && barrierLine != line)
    wrong("threads meet in two barriers, in line " +
          std::to_string(barrierLine) + " and in line " + std::to_string(line));
  barrierLine = line;
  if (++atBarrier < threads.size())
    return wait(State::AtBlock, line);
  atBarrier = 0;
  if (std::string text = compareProducts(); !text.empty())
    wrong(std::move(text));
  shadow.passBarrier();
  for (Thread &thread : threads)
    thread.state = State::Ready;
}

void Block::collect(Part &mine, int line) {
  Warp &warp = warps[size_t(running / lanes)];
  if (warp.arrived && warp.line != line)
    wrong("lanes of a warp meet in line " + std::to_string(warp.line) +
          " and in line " + std::to_string(line));
  warp.line = line;
  warp.parts[running % lanes] = &mine;
  if (++warp.arrived < lanes)
    return wait(State::AtWarp, line);
  warp.arrived = 0;
  mine.together(warp.parts);
  for (int lane = 0; lane < lanes; ++lane)
    threads[size_t(running / lanes * lanes + lane)].state = State::Ready;
}

bool Block::isWithin(const void *address, size_t size) const {
  auto *at = static_cast<const unsigned char *>(address);
  return at >= base && at + size <= base + bytes;
}

void Block::note(const void *address, size_t size, bool isWrite, int line) {
  if (!isWithin(address, size))
    wrong("an access to shared memory in line " + std::to_string(line) +
          " is outside of it");
  size_t at = size_t(static_cast<const unsigned char *>(address) - base);
  std::string race = shadow.access(at, size, running, isWrite, line);
  if (!race.empty())
    wrong(std::move(race));
  if (cluster.size() > 1 || !arrivals.empty())
    shadow.date(at, size, thisThread().clusterArrivals);
}

void Block::tellWaits(std::string &text) const {
  int last = -1;
  for (size_t i = 0; i < threads.size(); ++i) {
    int line = threads[i].state == State::Done ? 0 : threads[i].line;
    if (line != last)
      text += " thread " + std::to_string(i) +
              (line ? " in line " + std::to_string(line) : " has ended") + ";";
    last = line;
  }
}

} // namespace cp::kernels::cuda::exec
