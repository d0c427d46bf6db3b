//===- ArenaPlan.h - Places for buffers in one arena ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_ARENAPLAN_H
#define CP_LIB_TRANSFORMS_ARENAPLAN_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace cp {

/// A buffer that is live from op `first` through op `last`.
struct BufferLife {
  int64_t bytes, first, last;
};

struct ArenaPlan {
  /// Per buffer, multiples of arenaAlignment.
  std::vector<int64_t> offsets;
  /// The size of the arena.
  int64_t bytes = 0;
  /// The bytes of the largest set of buffers that are live at one time: no plan
  /// needs less.
  int64_t largestLiveSet = 0;
};

inline constexpr int64_t arenaAlignment = 64;

/// Gives buffers that are live at one time disjoint places. The better of two
/// heuristics: best fit in the order of the program (linear but for the number
/// of holes), and, for up to some thousands of buffers, largest first at the
/// lowest offset that is free for the buffer's life (Pisarchyk and Lee,
/// "Efficient memory management for deep neural net inference", 2020, greedy by
/// size).
ArenaPlan planArena(llvm::ArrayRef<BufferLife> lives);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ARENAPLAN_H
