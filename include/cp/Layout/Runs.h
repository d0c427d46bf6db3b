//===- Runs.h - Elements of a dimension, run by run -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which elements of a dimension a rank holds is a list of strided runs,
// whatever the order of the cut. What an order means is said here, by runsOf
// and its inverse holderOf; all else that asks where an element is goes by
// them.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_RUNS_H
#define CP_LAYOUT_RUNS_H

#include "cp/Layout/Cut.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cp {

/// `count` runs of `length` elements, `step` apart in the global numbering and
/// without gaps in the local one. `step` means nothing for a single run.
///   global, local, length, count, step  elements   locally
///   4, 0, 3                             4 5 6      0 1 2
///   1, 4, 2, 2, 6                       1 2 7 8    4 5 6 7
struct Run {
  int64_t global, local, length;
  int64_t count = 1, step = 0;

  int64_t size() const { return length * count; }
  /// Behind its last element in the global numbering: 7 and 9.
  int64_t end() const { return global + (count - 1) * step + length; }
  /// The global number of one of its elements, by its local one.
  ///   4, 0, 3        1 -> 5
  ///   1, 4, 2, 2, 6  6 -> 7
  int64_t globalOf(int64_t at) const {
    at -= local;
    return global + at / length * step + at % length;
  }
  /// The inverse; nothing for an element that is not its own.
  ///   4, 0, 3        5 -> 1, 7 -> nothing
  ///   1, 4, 2, 2, 6  7 -> 6, 3 -> nothing
  std::optional<int64_t> localOf(int64_t at) const {
    int64_t distance = at - global;
    if (distance < 0 || at >= end())
      return std::nullopt;
    int64_t which = count == 1 ? 0 : distance / step;
    distance -= which * step;
    if (distance >= length)
      return std::nullopt;
    return local + which * length + distance;
  }
  /// Calls fn(global, local, length) for each of the `count` runs.
  template <typename Fn> void forEach(Fn fn) const {
    for (int64_t i = 0; i < count; ++i)
      fn(global + i * step, local + i * length, length);
  }
};
bool operator==(const Run &a, const Run &b);

/// What one cut leaves to a position: at most three runs, ascending in both
/// numberings. Owns them, and leaves the heap alone.
class CutRuns {
public:
  CutRuns() = default;
  CutRuns(const Run &run) : runs{run}, count(1) {}
  /// Behind the last.
  void add(const Run &run) { runs[count++] = run; }

  const Run *begin() const { return runs; }
  const Run *end() const { return runs + count; }
  size_t size() const { return count; }
  /// The global number of an element that one of them has, by its local one.
  int64_t globalOf(int64_t local) const {
    size_t last = count - 1;
    while (last > 0 && local < runs[last].local)
      --last;
    return runs[last].globalOf(local);
  }

private:
  Run runs[3] = {};
  size_t count = 0;
};

/// What `position` on an axis of `ranks` holds of `length` elements that the
/// cut divides (or of any number where there is one rank, which holds them all
/// in ascending order); none of none. For 8 elements on 2 ranks, each run as
/// global:local:length:
///   position       0                    1
///   contiguous     0:0:4                4:0:4
///   zigzag         0:0:2, 6:2:2         2:0:4
///   striped : 2    0:0:2, 2 of step 4   2:0:2, 2 of step 4
///   striped : 4    0:0:4                4:0:4
///   sizes [3, 5]   0:0:3                3:0:5
/// In orders per document as of a single one; for 6 elements:
///   zigzag_per_document      0:0:1, 3:1:2   1:0:2, 5:2:1
///   contiguous_per_document  0:0:3          3:0:3
CutRuns runsOf(const Cut &cut, int64_t ranks, int64_t position, int64_t length);

/// The position that holds an element, and its local number there: the inverse
/// of runsOf, 0 <= element < length. For 8 elements on 2 ranks:
///   element      0     2     5     7
///   contiguous   0, 0  0, 2  1, 1  1, 3
///   zigzag       0, 0  1, 0  1, 3  0, 3
///   striped : 2  0, 0  1, 0  0, 3  1, 3
struct Holder {
  int64_t position, local;
};
Holder holderOf(const Cut &cut, int64_t ranks, int64_t length, int64_t element);

/// How many elements a part has room for: the same on each rank, and no more
/// than one of them needs. Of 8 elements on 2 ranks:
///   contiguous     4
///   sizes [3, 5]   5
int64_t roomOf(const Cut &cut, int64_t ranks, int64_t length);

/// What a rank's part must be a multiple of: the unit, two of them in zigzag
/// order; the largest int64_t where that does not fit.
///   contiguous : 3  3
///   zigzag : 3      6
///   striped : 3     3
///   zigzag_per_document  1
///   sizes [3, 5]         1
int64_t granuleOf(const Cut &cut);

/// Whether `length` elements divide: each rank gets as many, in whole granules,
/// or in the order of sizes as many as its size says.
///   on 4 ranks   0    4      8
///   contiguous   yes  yes    yes
///   zigzag       yes  no     yes
///   striped : 2  yes  no     yes
///   sizes [4, 0, 0, 4]  no  no  yes
bool divides(const Cut &cut, int64_t ranks, int64_t length);

/// How many strings of neighbours the cuts of a sequence leave to each rank,
/// for ops that go from one string to the next whoever holds them. Nothing
/// where there are more the longer the sequence is, or where one of several
/// cuts is not contiguous.
///   contiguous, contiguous  1
///   zigzag                  2
///   zigzag, contiguous      nothing
///   striped                 nothing
///   zigzag_per_document     nothing
///   contiguous_per_document nothing
///   sizes [3, 5]            nothing
std::optional<int64_t> partsPerRank(const Cut &cut);
std::optional<int64_t> partsPerRank(const std::vector<Cut> &cuts);

/// A piece that two lists of runs share: where it lies locally in the one (dst)
/// and in the other (src); how long each of its `count` runs is, and how far
/// apart they are on either side.
struct Segment {
  int64_t dst, src, length, count = 1, dstStep = 0, srcStep = 0;
};

/// Calls add(global, length, count) for the pieces of `run` within [begin,
/// end): at most one cut run at either end, and the whole ones between, which
/// are run.step apart.
template <typename AddFn>
void clip(const Run &run, int64_t begin, int64_t end, AddFn add) {
  if (begin >= run.end() || end <= run.global || run.length == 0)
    return;
  int64_t step = run.count == 1 ? run.length : run.step;
  int64_t first = std::max<int64_t>(begin - run.global, 0) / step;
  int64_t last = std::min((end - 1 - run.global) / step, run.count - 1);
  auto startOf = [&](int64_t i) { return run.global + i * step; };
  auto isWhole = [&](int64_t i) {
    return startOf(i) >= begin && startOf(i) + run.length <= end;
  };
  auto addCut = [&](int64_t i) {
    int64_t from = std::max(startOf(i), begin);
    int64_t to = std::min(startOf(i) + run.length, end);
    if (from < to)
      add(from, to - from, int64_t(1));
  };
  if (!isWhole(first))
    addCut(first++);
  bool cutsLast = last >= first && !isWhole(last);
  int64_t whole = last - first + (cutsLast ? 0 : 1);
  if (whole > 0)
    add(startOf(first), run.length, whole);
  if (cutsLast)
    addCut(last);
}

/// Calls add(segment) for what two runs share: at most three times where one of
/// them is single, otherwise for each of the runs of `src`.
template <typename AddFn>
void forCommon(const Run &dst, const Run &src, AddFn add) {
  if (dst.count > 1 && src.count > 1)
    return src.forEach([&](int64_t global, int64_t local, int64_t length) {
      forCommon(dst, Run{global, local, length}, add);
    });
  bool isDstMany = dst.count > 1;
  const Run &many = isDstMany ? dst : src, &one = isDstMany ? src : dst;
  clip(many, one.global, one.end(),
       [&](int64_t global, int64_t length, int64_t count) {
         add(Segment{*dst.localOf(global), *src.localOf(global), length, count,
                     isDstMany ? dst.length : many.step,
                     isDstMany ? many.step : src.length});
       });
}

/// The same of two lists, each ascending by `global`: a merge, in the order of
/// `dst`, linear in their lengths where runs do not interleave.
template <typename DstRuns, typename SrcRuns, typename AddFn>
void forEachCommon(const DstRuns &dst, const SrcRuns &src, AddFn add) {
  auto first = src.begin();
  for (const Run &run : dst) {
    while (first != src.end() && first->end() <= run.global)
      ++first;
    for (auto other = first; other != src.end() && other->global < run.end();
         ++other)
      forCommon(run, *other, add);
  }
}

/// How many elements two lists have in common, each ascending by `global`. Two
/// runs that repeat over the same elements are counted without a look at each:
/// what two ranks hold of a long sequence has no end. Each as
/// global:local:length:
///   4:0:4                           2:0:3                3
///   0:0:2, 2 of step 4              2:0:4                2
///   0:0:1, 8 of step 2              0:0:2, 4 of step 4   4
int64_t countCommon(const std::vector<Run> &a, const std::vector<Run> &b);

} // namespace cp

#endif // CP_LAYOUT_RUNS_H
