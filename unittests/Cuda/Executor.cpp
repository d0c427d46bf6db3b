//===- Executor.cpp - Blocks of a kernel without a card -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

#include "Fiber.h"
#include "SharedShadow.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cp::kernels::cuda::exec {

namespace {
using Random = std::mt19937_64;

enum class State { Ready, AtWarp, AtBlock, Done };

struct Copy {
  void *to;
  size_t bytes;
  unsigned char content[16];
};

struct Thread {
  Fiber fiber;
  State state = State::Ready;
  /// Where it waits.
  int line = 0;
  /// Groups of copies that have not been waited for, the oldest first; the last
  /// one is still being filled.
  std::vector<std::vector<Copy>> copies = std::vector<std::vector<Copy>>(1);
};

struct Warp {
  Part *parts[lanes] = {};
  int arrived = 0, line = 0;
};

/// The block that runs.
class Block {
public:
  Block(int threads, size_t sharedBytes, const std::function<void()> &body)
      : threads(size_t(threads)), warps(size_t(threads) / lanes),
        memory(sharedBytes + alignment), shadow(threads), body(body) {
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    base = memory.data() + (alignment - address % alignment) % alignment;
    bytes = sharedBytes;
  }

  /// "" or what went wrong.
  std::string run(const GridSize &at, Random &random);

  void barrier(int line);
  void collect(Part &mine, int line);
  void note(const void *address, size_t size, bool isWrite, int line);
  void wrong(std::string text) {
    if (message.empty())
      message = std::move(text);
    yieldForever();
  }
  Thread &thisThread() { return threads[size_t(running)]; }
  void passWarpBarrier() { shadow.passWarpBarrier(running / lanes); }

  int running = 0;
  int64_t position[3] = {};
  unsigned char *base;
  size_t bytes;

private:
  void wait(State state, int line) {
    thisThread().state = state;
    thisThread().line = line;
    thisThread().fiber.leave();
  }
  /// The block is given up: nobody comes back to this fiber.
  void yieldForever() {
    for (;;)
      wait(State::AtBlock, 0);
  }
  std::string stuck() const;

  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<unsigned char> memory;
  SharedShadow shadow;
  const std::function<void()> &body;
  size_t atBarrier = 0;
  int barrierLine = 0;
  std::string message;
};

thread_local Block *current = nullptr;
thread_local int64_t numLaunches = 0;
thread_local Watcher *watching = nullptr;
thread_local std::string lastMessage;
} // namespace

std::string Block::stuck() const {
  std::string text = "threads wait for others that do not come:";
  int last = -1;
  for (size_t i = 0; i < threads.size(); ++i) {
    int line = threads[i].state == State::Done ? 0 : threads[i].line;
    if (line != last)
      text += " thread " + std::to_string(i) +
              (line ? " in line " + std::to_string(line) : " has ended") + ";";
    last = line;
  }
  return text;
}

std::string Block::run(const GridSize &at, Random &random) {
  position[0] = at.x;
  position[1] = at.y;
  position[2] = at.z;
  std::fill(base, base + bytes, 0xff);
  shadow.reset(bytes);
  for (Thread &thread : threads) {
    thread.state = State::Ready;
    thread.copies.assign(1, {});
    thread.fiber.start([](void *self) { static_cast<Block *>(self)->body(); },
                       this);
  }
  std::vector<int> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  size_t done = 0;
  while (done < threads.size() && message.empty()) {
    bool moved = false;
    for (int each : order) {
      Thread &thread = threads[size_t(each)];
      if (thread.state != State::Ready || !message.empty())
        continue;
      moved = true;
      running = each;
      if (thread.fiber.enter()) {
        thread.state = State::Done;
        ++done;
      }
    }
    if (!moved && message.empty())
      message = stuck();
  }
  return message;
}

void Block::barrier(int line) {
  if (atBarrier && barrierLine != line)
    wrong("threads meet in two barriers, in line " +
          std::to_string(barrierLine) + " and in line " + std::to_string(line));
  barrierLine = line;
  if (++atBarrier < threads.size())
    return wait(State::AtBlock, line);
  atBarrier = 0;
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

void Block::note(const void *address, size_t size, bool isWrite, int line) {
  auto *at = static_cast<const unsigned char *>(address);
  if (at < base || at + size > base + bytes)
    wrong("an access to shared memory in line " + std::to_string(line) +
          " is outside of it");
  std::string race =
      shadow.access(size_t(at - base), size, running, isWrite, line);
  if (!race.empty())
    wrong(std::move(race));
}

int thread() { return current->running; }
int block(int dimension) { return int(current->position[dimension]); }
void *shared() { return current->base; }
void barrier(int line) { current->barrier(line); }
void collect(Part &mine, int line) { current->collect(mine, line); }
void note(const void *address, size_t bytes, bool isWrite, int line) {
  current->note(address, bytes, isWrite, line);
}

void warpBarrier(int line) {
  struct Pass : Part {
    void together(Part *const (&)[lanes]) override {
      current->passWarpBarrier();
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
    current->wrong("a copy of " + std::to_string(bytes) + " bytes in line " +
                   std::to_string(line) + " is not aligned");
  Copy copy = {to, bytes, {}};
  if (valid)
    std::memcpy(copy.content, from, bytes);
  if (valid && watching)
    watching->read(from, bytes);
  std::memset(to, 0xff, bytes);
  current->thisThread().copies.back().push_back(copy);
}

void commitCopies() { current->thisThread().copies.emplace_back(); }

void waitCopies(int groups) {
  std::vector<std::vector<Copy>> &copies = current->thisThread().copies;
  while (int(copies.size()) - 1 > groups) {
    for (const Copy &copy : copies.front())
      std::memcpy(copy.to, copy.content, copy.bytes);
    copies.erase(copies.begin());
  }
}

void loadMatrices(uint32_t (&to)[4], const uint16_t *row, bool transposed,
                  int line) {
  note(row, 16, false, line);
  struct Load : Part {
    const uint16_t *row;
    bool transposed;
    uint32_t (*to)[4];
    void together(Part *const (&parts)[lanes]) override {
      auto at = [&](int lane) -> Load & {
        return static_cast<Load &>(*parts[lane]);
      };
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int lane = 0; lane < lanes; ++lane) {
          auto element = [&](int i) -> uint32_t {
            int major = lane / 4, minor = lane % 4 * 2 + i;
            return transposed ? at(matrix * 8 + minor).row[major]
                              : at(matrix * 8 + major).row[minor];
          };
          (*at(lane).to)[matrix] = element(0) | element(1) << 16;
        }
    }
  } mine;
  mine.row = row;
  mine.transposed = transposed;
  mine.to = &to;
  collect(mine, line);
}

namespace {
struct Product : Part {
  float (*d)[4];
  uint32_t a[4], b[2];

  static float half(uint32_t pair, int i) {
    uint32_t wide = i ? pair & 0xffff0000u : pair << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  void together(Part *const (&parts)[lanes]) override {
    float A[16][16], B[16][8];
    for (int lane = 0; lane < lanes; ++lane) {
      auto &from = static_cast<Product &>(*parts[lane]);
      int q = lane / 4, r = lane % 4 * 2;
      for (int i = 0; i < 2; ++i) {
        for (int part = 0; part < 4; ++part)
          A[q + part % 2 * 8][r + i + part / 2 * 8] = half(from.a[part], i);
        for (int part = 0; part < 2; ++part)
          B[r + i + part * 8][q] = half(from.b[part], i);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      auto &to = static_cast<Product &>(*parts[lane]);
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += A[row][k] * B[k][column];
        (*to.d)[i] += sum;
      }
    }
  }
};
} // namespace

void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
              int line) {
  Product mine;
  mine.d = &d;
  std::memcpy(mine.a, a, sizeof mine.a);
  mine.b[0] = b0;
  mine.b[1] = b1;
  collect(mine, line);
}

const char *run(const char *op, GridSize grid, int threads, size_t sharedBytes,
                const std::function<void()> &body) {
  ++numLaunches;
  Random random{uint64_t(numLaunches)};
  auto block = std::make_unique<Block>(threads, sharedBytes, body);
  current = block.get();
  lastMessage.clear();
  for (int64_t z = 0; z < grid.z; ++z)
    for (int64_t y = 0; y < grid.y; ++y)
      for (int64_t x = 0; x < grid.x && lastMessage.empty(); ++x) {
        if (std::string text = block->run({x, y, z}, random); !text.empty())
          lastMessage = std::string(op) + ": " + text;
        if (watching)
          watching->blockEnds();
      }
  current = nullptr;
  return lastMessage.empty() ? nullptr : lastMessage.c_str();
}

int64_t launches() { return numLaunches; }

void watchBy(Watcher *watcher) { watching = watcher; }
Watcher *watcher() { return watching; }

} // namespace cp::kernels::cuda::exec
