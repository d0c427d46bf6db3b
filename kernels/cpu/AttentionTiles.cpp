//===- AttentionTiles.cpp - Which keys a query sees -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include "Arguments.h"

#include <algorithm>

namespace cp::kernels {

bool SpanWalk::startsItsOwn(const Span &span) const {
  return runs[run].length >= attentionTile || runs[run].first <= span.last();
}

void SpanWalk::take(Span &span) {
  Run from = runs[run];
  int64_t count = std::min(attentionTile - span.count, from.length - inRun);
  for (int64_t i = 0; i < count; ++i)
    span.positions[span.count + i] = from.first + (inRun + i) * from.step;
  span.count += count;
  inRun += count;
  if (inRun < from.length)
    return;
  ++run;
  inRun = 0;
}

bool SpanWalk::next(Span &span) {
  span.local = local;
  span.count = 0;
  while (run < runs.count && span.count < attentionTile) {
    if (span.count && startsItsOwn(span))
      break;
    take(span);
  }
  local += span.count;
  return span.count != 0;
}

Reach reachOf(const AttentionMask &mask, const Span &queries,
              View<const int64_t, 1> places) {
  Reach reach = {queries.count, {}, {}};
  for (int64_t i = 0; i < queries.count; ++i) {
    int64_t position = queries.positions[i];
    reach.last[i] = mask.causal ? position : INT64_MAX;
    if (mask.window)
      reach.first[i] = std::max<int64_t>(position - mask.window + 1, 0);
    if (places.data)
      reach.first[i] =
          std::max(reach.first[i], position - *places.at(queries.local + i));
  }
  return reach;
}

/// Whether a row that stands at `position`, with the sequence's first one at
/// `first`, may follow another one: it is of the same sequence, or of one that
/// has begun since.
static bool mayFollow(int64_t position, int64_t first, int64_t before,
                      int64_t firstBefore) {
  return position < before || first == firstBefore || first > before;
}

const char *checkReach(const PlacesView &places, int64_t batch, Runs queries) {
  Span span;
  for (int64_t b = 0; b < batch && places.data; ++b) {
    int64_t before = INT64_MAX, firstBefore = 0;
    for (SpanWalk walk(queries); walk.next(span);)
      for (int64_t i = 0; i < span.count; ++i) {
        int64_t row = span.local + i, position = span.positions[i];
        int64_t place = *places.at(b, row);
        // Of a row without a token, a sequence that begins behind it.
        int64_t first = place < -1 ? -1 : position - place;
        if (place < -1 ||
            (place >= 0 && !mayFollow(position, first, before, firstBefore)))
          return fail(
              "attention: places[%lld, %lld] is %lld at position %lld, "
              "behind %lld; a sequence counts its tokens 0, 1, 2, ..., "
              "and -1 is no token",
              static_cast<long long>(b), static_cast<long long>(row),
              static_cast<long long>(place), static_cast<long long>(position),
              static_cast<long long>(row ? *places.at(b, row - 1) : -1));
        before = position;
        firstBefore = first;
      }
  }
  return nullptr;
}

KeyRange keysSeen(const Reach &queries, int64_t i, const Span &keys) {
  const int64_t *begin = keys.positions, *end = begin + keys.count;
  int64_t first = std::lower_bound(begin, end, queries.first[i]) - begin;
  int64_t last = std::upper_bound(begin, end, queries.last[i]) - begin;
  return {first, std::max(first, last)};
}

Sight sightOf(const Reach &queries, const Span &keys) {
  int64_t last = queries.count - 1;
  if (queries.first[0] > keys.last() || queries.last[last] < keys.first())
    return Sight::None;
  bool seesAll =
      queries.first[last] <= keys.first() && queries.last[0] >= keys.last();
  return seesAll ? Sight::All : Sight::Some;
}

int64_t countAttentionTiles(const AttentionMask &mask, Runs queries,
                            Runs keys) {
  int64_t count = 0;
  Span q, k;
  for (SpanWalk qWalk(queries); qWalk.next(q);) {
    Reach reach = reachOf(mask, q);
    for (SpanWalk kWalk(keys); kWalk.next(k);)
      count += sightOf(reach, k) != Sight::None;
  }
  return count;
}

} // namespace cp::kernels
