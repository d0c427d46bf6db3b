//===- AttentionTiles.h - Which keys a query sees ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of a sequence is given by its runs, so that the mask knows where every
// row stands in the whole, in whatever order the ranks hold it. Kernels walk
// runs in tiles; what the queries of a tile reach, made once, tells of each
// tile of keys whether there is anything to do.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_ATTENTIONTILES_H
#define CP_KERNELS_CPU_ATTENTIONTILES_H

#include "Pieces.h"

#include <cstdint>

namespace cp::kernels {

/// Rows at positions first, first + step, ..., `length` of them, at least one.
struct Run {
  int64_t first, length, step;
};

/// The positions of a part's rows, in local order: three words for each run, as
/// in Run. Owns nothing.
struct Runs {
  static constexpr int64_t wordsPerRun = 3;
  const int64_t *words = nullptr;
  int64_t count = 0;

  Run operator[](int64_t i) const {
    const int64_t *at = words + i * wordsPerRun;
    return {at[0], at[1], at[2]};
  }
};

/// Rows of a tile, of queries as of keys.
constexpr int64_t attentionTile = 64;

/// `count` rows that follow each other in the part, from `local` on. In the
/// whole their positions ascend, with any gaps between them.
struct Span {
  int64_t local, count;
  int64_t positions[attentionTile];
  int64_t first() const { return positions[0]; }
  int64_t last() const { return positions[count - 1]; }
};

/// Goes through runs in spans of at most attentionTile rows. A run of fewer
/// rows, as stripes have, shares its span with the ones before it; a longer one
/// starts its own, which a gap then never widens.
class SpanWalk {
public:
  explicit SpanWalk(Runs runs) : runs(runs) {}
  /// False at the end.
  bool next(Span &span);

private:
  bool startsItsOwn(const Span &span) const;
  void take(Span &span);

  Runs runs;
  int64_t run = 0, inRun = 0, local = 0;
};

/// A causal query at position p sees the keys at positions [0, p], or the last
/// `window` of them when that is not 0. Without `causal` it sees all, and
/// `window` must be 0.
struct AttentionMask {
  bool causal = false;
  int64_t window = 0;
};

/// Which positions the queries of a span see: query i those from first[i] to
/// last[i], none where the former is beyond the latter. Both move forward with
/// the query.
struct Reach {
  int64_t count;
  int64_t first[attentionTile], last[attentionTile];
};
/// `places`, where there are any, are those of the rows of one batch element; a
/// query then sees nothing before its own sequence, and without a token nothing
/// at all.
Reach reachOf(const AttentionMask &mask, const Span &queries,
              View<const int64_t, 1> places = {});

/// Null, or the message that says where places do not count as cprt.h says,
/// between one row and the next that is here: what queries see moves forward.
const char *checkReach(const PlacesView &places, int64_t batch, Runs queries);

/// Keys [begin, end) of a span.
struct KeyRange {
  int64_t begin, end;
};
KeyRange keysSeen(const Reach &queries, int64_t i, const Span &keys);

/// What the queries of a span see of the keys of another. Rows with gaps
/// between them may see nothing of a span of which they see `Some`.
enum class Sight { None, Some, All };
Sight sightOf(const Reach &queries, const Span &keys);

/// How many pairs of tiles a kernel works on, for one head of one sequence.
int64_t countAttentionTiles(const AttentionMask &mask, Runs queries, Runs keys);

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ATTENTIONTILES_H
