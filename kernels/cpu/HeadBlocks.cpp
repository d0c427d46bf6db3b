//===- HeadBlocks.cpp - How a scan is shared out --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadBlocks.h"

#include "CeilDiv.h"
#include "Team.h"

#include <algorithm>

namespace cp::kernels {

/// A second cache of 1 MiB. States are read in order, so those that the tile
/// has pushed out to the third come back in time, while each further block
/// forms anew what heads share: 3 % of the scan between half of this and this.
static constexpr int64_t mostBytes = int64_t(1) << 20;

HeadBlocks::HeadBlocks(const SsdSizes &sizes, int64_t stateBytes)
    : heads(sizes.headsPerGroup()), groups(sizes.g) {
  int64_t most =
      std::max<int64_t>(mostBytes / std::max<int64_t>(stateBytes, 1), 1);
  int64_t others = std::max<int64_t>(sizes.b * groups, 1);
  // A multiple of what gives each thread as many as the next one.
  int64_t wanted = ceilDiv(numThreads(), others);
  perGroup = ceilDiv(ceilDiv(heads, most), wanted) * wanted;
  perBlock =
      std::max<int64_t>(ceilDiv(heads, std::max<int64_t>(perGroup, 1)), 1);
  perGroup = ceilDiv(heads, perBlock);
  count = sizes.b * groups * perGroup;
}

HeadBlock HeadBlocks::operator[](int64_t i) const {
  int64_t first = i % perGroup * perBlock, g = i / perGroup % groups;
  int64_t begin = g * heads + first;
  return {i / perGroup / groups, g, begin,
          std::min(begin + perBlock, (g + 1) * heads)};
}

} // namespace cp::kernels
