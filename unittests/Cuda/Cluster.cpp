//===- Cluster.cpp - Blocks that run at once ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <numeric>

namespace cp::kernels::cuda::exec {

Cluster::Cluster(int size, int threads, size_t sharedBytes)
    : threads(size_t(size) * size_t(threads)) {
  for (int rank = 0; rank < size; ++rank)
    blocks.push_back(
        std::make_unique<Block>(*this, rank, threads, sharedBytes));
}

std::string Cluster::run(const GridSize &first,
                         const std::function<void()> &body,
                         std::mt19937_64 &random) {
  const WhileItRuns guard;
  arrived = numPasses = 0;
  for (const std::unique_ptr<Block> &block : blocks)
    block->start({first.x + block->rank, first.y, first.z}, body);
  std::vector<size_t> order(threads);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  size_t each = threads / blocks.size();
  auto hasEnded = [](const auto &block) { return block->hasEnded(); };
  while (!std::all_of(blocks.begin(), blocks.end(), hasEnded)) {
    bool moved = false;
    for (size_t one : order) {
      moved |= blocks[one / each]->enter(int(one % each));
      if (!message.empty())
        return message;
    }
    if (!moved)
      return message = stuck();
  }
  return message = leftOver();
}

std::string Cluster::stuck() const {
  std::string text = "threads wait for others that do not come:";
  for (const std::unique_ptr<Block> &block : blocks) {
    if (blocks.size() > 1)
      text += " of block " + std::to_string(block->rank) + " of the cluster";
    block->tellWaits(text);
  }
  return text;
}

std::string Cluster::leftOver() const {
  for (const std::unique_ptr<Block> &block : blocks)
    if (std::string text = block->leftOver(); !text.empty())
      return text;
  return "";
}

void Cluster::arrive() {
  if (++arrived < threads)
    return;
  arrived = 0;
  ++numPasses;
  for (const std::unique_ptr<Block> &block : blocks)
    for (Thread &thread : block->threads)
      if (thread.state == State::AtCluster)
        thread.state = State::Ready;
}

void Block::arriveAtCluster(int line) {
  Thread &thread = thisThread();
  if (thread.clusterArrivals != thread.clusterPasses)
    wrong("a thread comes to the cluster's barrier in line " +
          std::to_string(line) + " and has not passed the one before");
  ++thread.clusterArrivals;
  cluster.arrive();
}

void Block::waitForCluster(int line) {
  Thread &thread = thisThread();
  if (thread.clusterArrivals == thread.clusterPasses)
    wrong("a thread waits in line " + std::to_string(line) +
          " for a barrier of the cluster that it has not come to");
  if (cluster.passes() < thread.clusterArrivals)
    wait(State::AtCluster, line);
  ++thread.clusterPasses;
}

void *Block::placeOf(const void *address, const Block &other) const {
  return base + (static_cast<const unsigned char *>(address) - other.base);
}

void ArrivalsState::endPhase() {
  if (!isAnnounced || started != expected)
    return;
  there.insert(there.end(), onTheirWay.begin(), onTheirWay.end());
  onTheirWay.clear();
  isAnnounced = false;
  parity = !parity;
  expected = started = 0;
}

void Block::setArrivals(const void *address, int line) {
  if (!isWithin(address, sizeof(uint64_t)))
    wrong("the arrivals of line " + std::to_string(line) +
          " are not in shared memory");
  arrivals[address] = {};
}

ArrivalsState &Block::arrivalsAt(const void *address, int line) {
  auto found = arrivals.find(address);
  if (found == arrivals.end())
    currentBlock().wrong("the arrivals of line " + std::to_string(line) +
                         " have not been set");
  return found->second;
}

void Block::bring(void *to, const void *from, size_t size,
                  ArrivalsState &counted, const Thread &by, int line) {
  Block &teller = currentBlock();
  if (hasEnded())
    teller.wrong("a copy in line " + std::to_string(line) +
                 " is to a block that has ended");
  if (!isWithin(to, size))
    teller.wrong("a copy in line " + std::to_string(line) +
                 " is to what is outside of shared memory");
  std::string race =
      shadow.bring(size_t(static_cast<unsigned char *>(to) - base), size,
                   by.clusterPasses, line);
  if (!race.empty())
    teller.wrong(std::move(race));
  for (size_t i = 0; i < size; i += sizeof(Copy::content)) {
    Copy part = {static_cast<char *>(to) + i, sizeof(Copy::content), {}};
    std::memcpy(part.content, static_cast<const char *>(from) + i, part.bytes);
    counted.onTheirWay.push_back(part);
  }
  std::memset(to, 0xff, size);
  counted.started += int64_t(size);
  counted.endPhase();
}

void Block::waitForArrivals(const void *address, bool parity, int line) {
  ArrivalsState &awaited = arrivalsAt(address, line);
  if (awaited.parity == parity) {
    thisThread().arrivals = &awaited;
    thisThread().parity = parity;
    wait(State::AtArrivals, line);
  }
  for (const Copy &copy : awaited.there)
    copy.arrive();
  awaited.there.clear();
}

std::string Block::leftOver() {
  if (std::string text = compareProducts(); !text.empty())
    return text;
  for (const Thread &thread : threads)
    if (!thread.products.empty())
      return "a block ends, and has not waited for its products";
  for (const auto &each : arrivals)
    if (!each.second.onTheirWay.empty() || !each.second.there.empty())
      return "a block ends, and has not waited for what is copied to it";
  return "";
}

void arriveAtCluster(int line) { currentBlock().arriveAtCluster(line); }
void waitForCluster(int line) { currentBlock().waitForCluster(line); }
void setArrivals(const void *arrivals, int line) {
  currentBlock().setArrivals(arrivals, line);
}

void announce(const void *arrivals, int64_t bytes, int line) {
  Block &block = currentBlock();
  ArrivalsState &awaited = block.arrivalsAt(arrivals, line);
  if (awaited.isAnnounced)
    block.wrong("bytes are announced in line " + std::to_string(line) +
                " before those that were have come");
  awaited.isAnnounced = true;
  awaited.expected = bytes;
  awaited.endPhase();
}

void waitForArrivals(const void *arrivals, bool parity, int line) {
  currentBlock().waitForArrivals(arrivals, parity, line);
}

void copyToCluster(void *to, const void *from, size_t bytes,
                   const void *arrivals, int blocks, int line) {
  Block &mine = currentBlock();
  if (blocks > mine.cluster.size())
    mine.wrong("a copy in line " + std::to_string(line) + " is to " +
               std::to_string(blocks) + " blocks, of " +
               std::to_string(mine.cluster.size()) + " of the cluster");
  if (reinterpret_cast<uintptr_t>(to) % 16 ||
      reinterpret_cast<uintptr_t>(from) % 16 || bytes % 16)
    mine.wrong("a copy of " + std::to_string(bytes) + " bytes in line " +
               std::to_string(line) + " is not aligned");
  if (Watcher *told = watcher())
    told->read(from, bytes);
  for (int rank = 0; rank < blocks; ++rank) {
    Block &other = mine.cluster.block(rank);
    other.bring(other.placeOf(to, mine), from, bytes,
                other.arrivalsAt(other.placeOf(arrivals, mine), line),
                mine.thisThread(), line);
  }
}

/// A row of a box is 128 bytes, eight parts that are exchanged by the bits of
/// where the row is.
static void copyRowToCluster(size_t at, const char *from, bool valid,
                             const void *arrivals, int blocks, int line) {
  Block &mine = currentBlock();
  constexpr char zeros[16] = {};
  if (Watcher *told = watcher(); told && valid)
    told->read(from, 128);
  for (size_t part = 0; part < 8; ++part) {
    size_t to = at + part * 16;
    to ^= (to >> 7 & 7) << 4;
    for (int rank = 0; rank < blocks; ++rank) {
      Block &other = mine.cluster.block(rank);
      other.bring(other.base + to, valid ? from + part * 16 : zeros, 16,
                  other.arrivalsAt(other.placeOf(arrivals, mine), line),
                  mine.thisThread(), line);
    }
  }
}

void copyBoxToCluster(void *to, const void *map, const int (&first)[4],
                      const void *arrivals, int blocks, int line) {
  TensorBox tensor;
  std::memcpy(&tensor, map, sizeof tensor);
  Block &mine = currentBlock();
  size_t at = size_t(static_cast<unsigned char *>(to) - mine.base);
  if (at % 128 || first[0] % 64 || blocks > mine.cluster.size())
    mine.wrong("a copy of a box in line " + std::to_string(line) +
               " is not aligned, or to blocks that are not there");
  int64_t index[4] = {first[0]};
  for (int i = 0; i < tensor.box[1] * tensor.box[2] * tensor.box[3]; ++i) {
    int in[4] = {0, i % tensor.box[1], i / tensor.box[1] % tensor.box[2],
                 i / tensor.box[1] / tensor.box[2]};
    bool valid = true;
    const char *from =
        static_cast<const char *>(tensor.data) + 2 * int64_t(first[0]);
    for (int d = 1; d < 4; ++d) {
      index[d] = first[d] + in[d];
      valid = valid && index[d] >= 0 && index[d] < tensor.sizes[d];
      from += index[d] * tensor.strides[d - 1];
    }
    copyRowToCluster(at + size_t(i) * 128, from, valid, arrivals, blocks, line);
  }
}

} // namespace cp::kernels::cuda::exec
