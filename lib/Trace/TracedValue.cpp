//===- TracedValue.cpp - Ids in place of numbers ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Trace/TracedValue.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace cp {

IdSpace IdSpace::of(llvm::ArrayRef<int64_t> sizes) {
  IdSpace space;
  space.sizes.assign(sizes.begin(), sizes.end());
  space.strides.assign(sizes.size() + 1, 1);
  for (size_t dim = sizes.size(); dim-- > 0;)
    space.strides[dim] = space.strides[dim + 1] * sizes[dim];
  return space;
}

llvm::SmallVector<int64_t> IdSpace::sizesBetween(int64_t outer,
                                                 int64_t inner) const {
  llvm::SmallVector<int64_t> found;
  bool startsHere = false, endsHere = outer == inner;
  int64_t stride = std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                                   std::multiplies<int64_t>());
  for (int64_t size : sizes) {
    startsHere |= stride == outer;
    if (stride <= inner)
      break;
    stride /= size;
    if (startsHere)
      found.push_back(size);
    endsHere |= stride == inner;
  }
  if (startsHere && endsHere)
    return found;
  // A border within the last size: heads of merged heads and channels.
  if (startsHere && !found.empty() && stride < inner && inner % stride == 0 &&
      found.back() % (inner / stride) == 0) {
    found.back() /= inner / stride;
    return found;
  }
  return {outer / inner};
}

int64_t TracedValue::numElements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

Plane TracedValue::idsOf(int64_t rank) const {
  if (!ids.empty() && ids[rank])
    return ids[rank];
  return std::make_shared<Words>(numElements(), isUnknown ? unknownId : noId);
}

Plane TracedValue::coversOf(int64_t rank) const {
  if (!covers.empty() && covers[rank])
    return covers[rank];
  return std::make_shared<Words>(numElements(), 0);
}

namespace {
/// Which index of the whole elements have along some dimensions: those that
/// follow each other mostly have the same, or the next, which takes no
/// division.
class DigitReader {
public:
  DigitReader(int64_t stride, int64_t size) : stride(stride), size(size) {}

  int64_t operator()(int64_t word) {
    if (word == unknownId)
      return Digits::unknown;
    int64_t id = (word & ~initialTag) - 1;
    if (id >= begin + stride && id < begin + 2 * stride) {
      begin += stride;
      digit = digit + 1 == size ? 0 : digit + 1;
    } else if (id < begin || id >= begin + stride) {
      digit = id / stride % size;
      begin = id / stride * stride;
    }
    return digit;
  }

private:
  const int64_t stride, size;
  /// The ids from `begin` on, as many as a stride, have this one.
  int64_t begin = 0, digit = 0;
};
} // namespace

Digits digitsAlong(const TracedValue &value, int64_t rank, size_t first,
                   size_t last,
                   llvm::function_ref<void(int64_t, int64_t, int64_t)> mixed) {
  const IdSpace &space = *value.space;
  int64_t count = 1, inner = 1;
  for (size_t dim = first; dim <= last; ++dim)
    count *= value.shape[dim];
  for (size_t dim = last + 1; dim < value.shape.size(); ++dim)
    inner *= value.shape[dim];
  int64_t stride = space.strides[last + 1];
  Digits digits{std::vector<int64_t>(count, Digits::none),
                std::max<int64_t>(1, space.strides[first] / stride)};
  DigitReader digitOf(stride, digits.size);
  Plane plane = value.idsOf(rank);
  bool said = false;
  int64_t index = 0, place = 0;
  for (int64_t word : *plane) {
    if (word != noId) {
      int64_t digit = digitOf(word);
      int64_t &known = digits.at[index];
      if (known == Digits::none)
        known = digit;
      else if (known != digit && !said && known >= 0 && digit >= 0) {
        mixed(index, digit, known);
        said = true;
      }
    }
    if (++place == inner) {
      place = 0;
      index = index + 1 == count ? 0 : index + 1;
    }
  }
  return digits;
}

bool Cover::operator<(const Cover &other) const {
  return std::tie(isRun, size, intervals) <
         std::tie(other.isRun, other.size, other.intervals);
}

std::optional<std::vector<std::pair<int64_t, int64_t>>>
joined(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<std::pair<int64_t, int64_t>> result;
  for (auto [from, to] : intervals) {
    if (!result.empty() && from < result.back().second)
      return std::nullopt;
    if (!result.empty() && from == result.back().second)
      result.back().second = to;
    else
      result.push_back({from, to});
  }
  return result;
}

std::optional<std::vector<std::pair<int64_t, int64_t>>>
intervalsOf(llvm::ArrayRef<int64_t> indices) {
  std::vector<std::pair<int64_t, int64_t>> single;
  for (int64_t index : indices)
    single.push_back({index, index + 1});
  return joined(std::move(single));
}

std::string textOf(llvm::ArrayRef<std::pair<int64_t, int64_t>> intervals,
                   int64_t period) {
  std::string text;
  for (auto [from, to] : intervals) {
    int64_t base = period > 0 ? from / period * period : 0;
    text += text.empty() ? "" : ", ";
    text += std::to_string(from - base);
    if (to - from > 1)
      text += " to " + std::to_string(to - 1 - base);
  }
  return text.empty() ? "nothing" : text;
}

int64_t Covers::wordOf(const Cover &cover) {
  auto [it, isNew] = words.try_emplace(cover, covers.size() + 1);
  if (isNew)
    covers.push_back(&it->first);
  return it->second;
}

} // namespace cp
