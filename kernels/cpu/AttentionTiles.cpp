//===- AttentionTiles.cpp - Which keys a query sees -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

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

KeyRange keysSeen(const AttentionMask &mask, int64_t position,
                  const Span &keys) {
  if (!mask.causal)
    return {0, keys.count};
  const int64_t *begin = keys.positions, *end = begin + keys.count;
  int64_t first =
      mask.window ? std::max<int64_t>(position - mask.window + 1, 0) : 0;
  return {std::lower_bound(begin, end, first) - begin,
          std::upper_bound(begin, end, position) - begin};
}

Sight sightOf(const AttentionMask &mask, const Span &queries,
              const Span &keys) {
  if (!mask.causal)
    return Sight::All;
  // How far back the first query sees, and the last one.
  auto back = [&](int64_t position) {
    return mask.window ? std::max<int64_t>(position - mask.window + 1, 0) : 0;
  };
  int64_t first = queries.first(), last = queries.last();
  if (back(first) > keys.last() || last < keys.first())
    return Sight::None;
  bool seesAll = back(last) <= keys.first() && first >= keys.last();
  return seesAll ? Sight::All : Sight::Some;
}

int64_t countAttentionTiles(const AttentionMask &mask, Runs queries,
                            Runs keys) {
  int64_t count = 0;
  Span q, k;
  for (SpanWalk qWalk(queries); qWalk.next(q);)
    for (SpanWalk kWalk(keys); kWalk.next(k);)
      count += sightOf(mask, q, k) != Sight::None;
  return count;
}

} // namespace cp::kernels
