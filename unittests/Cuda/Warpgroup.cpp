//===- Warpgroup.cpp - Products of four warps -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp makes its rows when its lanes have come, of shared memory as it is
// then; who waits for the product gets them.
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>

namespace cp::kernels::cuda::exec {

namespace {

/// A descriptor, as PTX has it.
class Operand {
public:
  Operand(uint64_t bits, int line) : line(line) {
    start = size_t(bits & 0x3fff) << 4;
    panel = size_t(bits >> 16 & 0x3fff) << 4;
    eight = size_t(bits >> 32 & 0x3fff) << 4;
    constexpr uint64_t unused = ~(uint64_t(0x3fff) | uint64_t(0x3fff) << 16 |
                                  uint64_t(0x3fff) << 32 | uint64_t(1) << 62);
    if (!(bits >> 62) || bits & unused)
      currentBlock().wrong("an operand in line " + std::to_string(line) +
                           " has no pattern of 128 bytes");
  }
  /// Depth is within a row: a's rows, or b's columns, in order.
  float alongRows(int row, int depth) const {
    return load(start + size_t(row / 8) * eight + size_t(row % 8) * 128 +
                size_t(depth) * 2);
  }
  /// Depth is from row to row.
  float acrossRows(int column, int depth) const {
    return load(start + size_t(column / 64) * panel +
                size_t(depth / 8) * eight + size_t(depth % 8) * 128 +
                size_t(column % 64) * 2);
  }

private:
  float load(size_t at) const {
    at ^= (at >> 7 & 7) << 4;
    auto *from = reinterpret_cast<const uint16_t *>(currentBlock().base + at);
    currentBlock().note(from, sizeof *from, false, line);
    return widenedBits(*from);
  }

  size_t start, panel, eight;
  int line;
};

struct Product : Part {
  Thread *thread;
  float *d;
  int tiles, line;
  bool adds;
  /// Of a either.
  uint64_t a = 0, b;
  const uint32_t *fragment = nullptr;

  void together(Part *const (&parts)[lanes]) override {
    auto at = [&](int lane) -> Product & {
      return static_cast<Product &>(*parts[lane]);
    };
    currentBlock().noteProduct(line, a, b, adds);
    for (int lane = 0; lane < lanes; ++lane)
      if (at(lane).a != a || at(lane).b != b || at(lane).adds != adds)
        currentBlock().wrong("lanes of a product in line " +
                             std::to_string(line) + " have other operands");
    int firstRow = currentBlock().running / lanes % 4 * 16;
    std::vector<float> A(16 * 16), B(size_t(16 * tiles * 8));
    for (int depth = 0; depth < 16; ++depth) {
      for (int row = 0; row < 16; ++row)
        A[size_t(row * 16 + depth)] =
            fragment ? ofFragment(at(row % 8 * 4 + depth % 8 / 2).fragment, row,
                                  depth)
                     : Operand(a, line).alongRows(firstRow + row, depth);
      for (int column = 0; column < tiles * 8; ++column)
        B[size_t(column * 16 + depth)] =
            fragment ? Operand(b, line).acrossRows(column, depth)
                     : Operand(b, line).alongRows(column, depth);
    }
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < tiles * 4; ++i) {
        int row = lane / 4 + i % 4 / 2 * 8;
        int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += A[size_t(row * 16 + k)] * B[size_t(column * 16 + k)];
        float &to = at(lane).thread->products[at(lane).d][size_t(i)];
        to = adds ? to + sum : sum;
      }
  }

  static float ofFragment(const uint32_t *of, int row, int depth) {
    uint32_t pair = of[row / 8 + depth / 8 * 2];
    return widenedBits(uint16_t(depth % 2 ? pair >> 16 : pair));
  }
};

/// What is in registers is nobody's until the product was waited for.
void start(Product &mine) {
  mine.thread = &currentBlock().thisThread();
  if (!mine.thread->hasBegun)
    currentBlock().wrong("products in line " + std::to_string(mine.line) +
                         " are not begun behind what was waited for");
  std::vector<float> &held = mine.thread->products[mine.d];
  size_t count = size_t(mine.tiles) * 4;
  if (held.empty())
    held.assign(mine.d, mine.d + count);
  std::fill_n(mine.d, count, NAN);
  mine.thread->productGroups.back().push_back(mine.d);
  collect(mine, mine.line);
}

} // namespace

void Block::noteProduct(int line, uint64_t a, uint64_t b, bool adds) {
  warps[size_t(running / lanes)].products.emplace_back(line, a, b, adds);
}

std::string Block::compareProducts() {
  std::string text;
  for (size_t i = 0; i < warps.size() && text.empty(); ++i)
    if (warps[i].products != warps[i / 4 * 4].products)
      text = "warps " + std::to_string(i / 4 * 4) + " and " +
             std::to_string(i) +
             " of a warpgroup have not had the same products, or not waited "
             "for them in the same places";
  for (Warp &warp : warps)
    warp.products.clear();
  return text;
}

void multiplyRows(float (&d)[8][4], uint64_t a, uint64_t b, bool adds,
                  int line) {
  Product mine;
  mine.d = d[0];
  mine.tiles = 8;
  mine.line = line;
  mine.adds = adds;
  mine.a = a;
  mine.b = b;
  start(mine);
}

void addProduct(float *d, int tiles, const uint32_t (&a)[4], uint64_t b,
                int line) {
  Product mine;
  mine.d = d;
  mine.tiles = tiles;
  mine.line = line;
  mine.adds = true;
  mine.b = b;
  mine.fragment = a;
  start(mine);
}

void beginProducts() { currentBlock().thisThread().hasBegun = true; }

static size_t onTheirWay(const Thread &thread) {
  size_t count = 0;
  for (const std::vector<float *> &group : thread.productGroups)
    count += !group.empty();
  return count;
}

/// What a warp says to its group in one place.
static void noteCall(int line, int groups) {
  if (currentBlock().running % lanes == 0)
    currentBlock().noteProduct(line, uint64_t(groups), 0, false);
}

void commitProducts(int groups, int line) {
  noteCall(line, groups);
  Thread &thread = currentBlock().thisThread();
  if (onTheirWay(thread) > size_t(groups))
    currentBlock().wrong("of " + std::to_string(onTheirWay(thread)) +
                         " groups of products a commit leaves " +
                         std::to_string(groups) + " on their way");
  thread.productGroups.emplace_back();
}

void waitProducts(int groups, std::initializer_list<float *> sums, int line) {
  noteCall(line, groups);
  Thread &thread = currentBlock().thisThread();
  std::vector<std::vector<float *>> &all = thread.productGroups;
  size_t left = std::min(size_t(groups) + 1, all.size());
  all.erase(all.begin(), all.end() - ptrdiff_t(left));
  for (float *d : sums) {
    auto has = [&](const std::vector<float *> &group) {
      return std::count(group.begin(), group.end(), d) != 0;
    };
    auto found = thread.products.find(d);
    if (found == thread.products.end() ||
        std::any_of(all.begin(), all.end(), has))
      continue;
    std::copy(found->second.begin(), found->second.end(), d);
    thread.products.erase(found);
    // What is done with it from now on is in front of no fence.
    thread.hasBegun = false;
  }
}

} // namespace cp::kernels::cuda::exec
