//===- TracedValue.h - Ids in place of numbers ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Each element of a rank's part is replaced by the number that it has in its
// whole tensor, in C order. That number stays the same whatever is done to a
// shape, and moves as the element would.
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_TRACEDVALUE_H
#define CP_TRACE_TRACEDVALUE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cp {

/// One word for each element of a rank's part. Ranks may share one.
using Words = std::vector<int64_t>;
using Plane = std::shared_ptr<const Words>;

/// Words in a plane of ids: 1 + an element's number, or one of
///   noId       a constant, or the zeros that a collective gives where there is
///              nothing: it belongs to any element
///   unknownId  nothing is known
/// `initialTag` is set on rows that stand before a sequence's first.
inline constexpr int64_t noId = 0, unknownId = -1;
inline constexpr int64_t initialTag = int64_t(1) << 60;

/// How numbers of elements are read as indices.
struct IdSpace {
  /// For dimension d, strides[d + 1] neighbours in the whole tensor have one
  /// index and strides[d] / strides[d + 1] is the whole size. One more entry
  /// than there are dimensions; the last is 1.
  llvm::SmallVector<int64_t> strides;
  /// The whole tensor's sizes before any change of shape: a sequence keeps its
  /// length while a rank sees it in parts.
  llvm::SmallVector<int64_t> sizes;

  static IdSpace of(llvm::ArrayRef<int64_t> sizes);
  /// At least 1, also where elements that are repeated make it look smaller.
  int64_t wholeSize(size_t dim) const {
    return std::max<int64_t>(1, strides[dim] / strides[dim + 1]);
  }
  /// The sizes, out of `sizes`, of what lies between two strides, the last one
  /// divided if the inner stride is within it; one size if they do not fit.
  llvm::SmallVector<int64_t> sizesBetween(int64_t outer, int64_t inner) const;
};

/// What a value is on each rank.
struct TracedValue {
  llvm::SmallVector<int64_t> shape;
  /// Not there for constants, and where nothing is known.
  std::shared_ptr<const IdSpace> space;
  bool isUnknown = false;
  /// Whether elements may be there several times: its sizes may not be those of
  /// its space then.
  bool isRepeated = false;
  /// Whether dimensions 0 and 1 are rows of a sequence whatever is taken of
  /// them: a part of them is no tensor of its own.
  bool hasRows = false;
  /// By rank; null where all is noId.
  std::vector<Plane> ids;
  /// By rank: what each element covers (see Covers); empty: plain elements.
  std::vector<Plane> covers;

  int64_t numElements() const;
  /// The size of dimension 0, that of the batch; 1 for a scalar.
  int64_t numBatches() const { return shape.empty() ? 1 : shape[0]; }
  /// The words of a rank, zeros for a null plane.
  Plane idsOf(int64_t rank) const;
  Plane coversOf(int64_t rank) const;
  bool isConstant() const { return !space && !isUnknown; }
};

/// For each index along dimensions first to last (as one) which index of the
/// whole the elements there have.
struct Digits {
  static constexpr int64_t none = -1, unknown = -2;
  std::vector<int64_t> at;
  /// Of the whole.
  int64_t size = 0;
};

/// Reads them; where elements at one index differ, `mixed(index, digit, other)`
/// is called once and the first counts. Precondition: there is a space.
Digits digitsAlong(const TracedValue &value, int64_t rank, size_t first,
                   size_t last,
                   llvm::function_ref<void(int64_t, int64_t, int64_t)> mixed);

/// What an element stands for besides itself: the indices that a sum has gone
/// over so far, or the rows that a state has gone over.
struct Cover {
  bool isRun = false;
  /// Of a sum: how many indices there are.
  int64_t size = 0;
  /// Half-open, ascending, apart.
  std::vector<std::pair<int64_t, int64_t>> intervals;

  bool operator<(const Cover &other) const;
};

/// The intervals of a set of indices, each of which may come once only; nothing
/// if one comes twice.
std::optional<std::vector<std::pair<int64_t, int64_t>>>
intervalsOf(llvm::ArrayRef<int64_t> indices);
/// The same for intervals.
std::optional<std::vector<std::pair<int64_t, int64_t>>>
joined(std::vector<std::pair<int64_t, int64_t>> intervals);

/// "0 to 15, 32 to 47", "nothing"; numbers are taken modulo `period` if above
/// 0.
std::string textOf(llvm::ArrayRef<std::pair<int64_t, int64_t>> intervals,
                   int64_t period = 0);

/// Every cover there is, by a word: 0 is a plain element, unknownId unknown.
class Covers {
public:
  int64_t wordOf(const Cover &cover);
  const Cover &operator[](int64_t word) const { return *covers[word - 1]; }

private:
  std::map<Cover, int64_t> words;
  std::vector<const Cover *> covers;
};

} // namespace cp

#endif // CP_TRACE_TRACEDVALUE_H
