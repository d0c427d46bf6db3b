//===- ArenaPlan.cpp - Places for buffers in one arena ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cp {
namespace {

using Lives = llvm::ArrayRef<BufferLife>;

int64_t roundedBytes(const BufferLife &life) {
  return std::max<int64_t>(arenaAlignment,
                           llvm::alignTo(life.bytes, arenaAlignment));
}

/// Buffers' numbers in the order in which they begin, and in which they end.
struct Events {
  explicit Events(Lives lives) : begins(lives.size()), ends(lives.size()) {
    std::iota(begins.begin(), begins.end(), 0);
    std::iota(ends.begin(), ends.end(), 0);
    llvm::stable_sort(begins, [&](size_t a, size_t b) {
      if (lives[a].first != lives[b].first)
        return lives[a].first < lives[b].first;
      return lives[a].bytes > lives[b].bytes;
    });
    llvm::stable_sort(ends, [&](size_t a, size_t b) {
      return lives[a].last < lives[b].last;
    });
  }
  std::vector<size_t> begins, ends;
};

/// Calls begin(i) and end(i) in the order of the program; what ends at an op is
/// live while what begins there is.
template <typename BeginFn, typename EndFn>
void replay(Lives lives, const Events &events, BeginFn begin, EndFn end) {
  size_t ended = 0;
  for (size_t buffer : events.begins) {
    for (; lives[events.ends[ended]].last < lives[buffer].first; ++ended)
      end(events.ends[ended]);
    begin(buffer);
  }
}

/// The holes of an arena; those at its end are not kept.
class Holes {
public:
  int64_t take(int64_t bytes) {
    auto best = holes.end();
    for (auto hole = holes.begin(); hole != holes.end(); ++hole)
      if (hole->second >= bytes &&
          (best == holes.end() || hole->second < best->second))
        best = hole;
    if (best == holes.end())
      return grow(bytes);
    auto [offset, size] = *best;
    holes.erase(best);
    if (size > bytes)
      holes[offset + bytes] = size - bytes;
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = holes.lower_bound(offset);
    if (next != holes.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    holes[offset] = bytes;
  }

  int64_t size() const { return end; }

private:
  /// A hole at the end is used up before the arena grows.
  int64_t grow(int64_t bytes) {
    int64_t offset = end;
    if (!holes.empty()) {
      auto last = std::prev(holes.end());
      if (last->first + last->second == end) {
        offset = last->first;
        holes.erase(last);
      }
    }
    end = offset + bytes;
    return offset;
  }

  std::map<int64_t, int64_t> holes;
  int64_t end = 0;
};

ArenaPlan bestFit(Lives lives, const Events &events) {
  ArenaPlan plan;
  plan.offsets.resize(lives.size());
  Holes holes;
  replay(
      lives, events,
      [&](size_t i) { plan.offsets[i] = holes.take(roundedBytes(lives[i])); },
      [&](size_t i) { holes.give(plan.offsets[i], roundedBytes(lives[i])); });
  plan.bytes = holes.size();
  return plan;
}

bool overlap(const BufferLife &a, const BufferLife &b) {
  return a.first <= b.last && b.first <= a.last;
}

ArenaPlan greedyBySize(Lives lives) {
  ArenaPlan plan;
  plan.offsets.resize(lives.size());
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return lives[a].bytes > lives[b].bytes;
  });
  // Placed buffers by offset, so that one sweep finds the first gap.
  std::multimap<int64_t, size_t> placed;
  for (size_t buffer : order) {
    int64_t bytes = roundedBytes(lives[buffer]), offset = 0;
    for (auto [start, other] : placed) {
      if (!overlap(lives[buffer], lives[other]))
        continue;
      if (start >= offset + bytes)
        break;
      offset = std::max(offset, start + roundedBytes(lives[other]));
    }
    plan.offsets[buffer] = offset;
    placed.emplace(offset, buffer);
    plan.bytes = std::max(plan.bytes, offset + bytes);
  }
  return plan;
}

int64_t largestLiveSet(Lives lives, const Events &events) {
  int64_t live = 0, most = 0;
  replay(
      lives, events,
      [&](size_t i) {
        live += roundedBytes(lives[i]);
        most = std::max(most, live);
      },
      [&](size_t i) { live -= roundedBytes(lives[i]); });
  return most;
}

} // namespace

ArenaPlan planArena(Lives lives) {
  constexpr size_t mostForGreedy = 4096;
  Events events(lives);
  ArenaPlan plan = bestFit(lives, events);
  if (lives.size() <= mostForGreedy) {
    ArenaPlan other = greedyBySize(lives);
    if (other.bytes < plan.bytes)
      plan = std::move(other);
  }
  plan.largestLiveSet = largestLiveSet(lives, events);
  return plan;
}

} // namespace cp
