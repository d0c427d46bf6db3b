//===- AttentionTiles.cpp - Which keys a query sees -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include <algorithm>

namespace cp::kernels {

bool SpanWalk::next(Span &span) {
  while (run < runs.count && inRun == runs.words[2 * run + 1]) {
    ++run;
    inRun = 0;
  }
  if (run == runs.count)
    return false;
  span = {local, runs.words[2 * run] + inRun,
          std::min(attentionTile, runs.words[2 * run + 1] - inRun)};
  inRun += span.count;
  local += span.count;
  return true;
}

KeyRange keysSeen(const AttentionMask &mask, int64_t position,
                  const Span &keys) {
  if (!mask.causal)
    return {0, keys.count};
  auto inSpan = [&](int64_t at) {
    return std::clamp<int64_t>(at - keys.first, 0, keys.count);
  };
  // The first position comes before the difference, which could overflow.
  int64_t first =
      mask.window ? std::max<int64_t>(position - mask.window + 1, 0) : 0;
  return {inSpan(first), inSpan(position + 1)};
}

Sight sightOf(const AttentionMask &mask, const Span &queries,
              const Span &keys) {
  KeyRange first = keysSeen(mask, queries.first, keys);
  KeyRange last = keysSeen(mask, queries.last(), keys);
  // Both ends move forward with the query.
  if (first.begin == keys.count || last.end == 0)
    return Sight::None;
  bool seesAll = last.begin == 0 && first.end == keys.count;
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
