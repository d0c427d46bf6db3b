//===- Runs.h - Which elements of a dimension meet --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs of equal length at equal distances are one piece, however many they are:
// a striped part has one run for each of its units, and copies go through it
// with a stride.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_RUNS_H
#define CP_LIB_RUNTIME_RUNS_H

#include "List.h"

namespace cp::runtime {

/// `count` runs of `length` elements, `step` apart in the global numbering and
/// without gaps in the local one. `step` means nothing for a single run.
struct Runs {
  int64_t global, local, length, count = 1, step = 0;
};

/// Pieces of one dimension: where they go, where they come from, how long each
/// is, how many there are and how far apart.
struct Segment {
  int64_t dst, src, length, count = 1, dstStep = 0, srcStep = 0;
};

/// What is both in `dst` and in `src`, which number (parts of) the same
/// dimension globally. Two or more striped parts give a segment for each run of
/// `src`, all else at most three for each pair.
List<Segment> intersect(const List<Runs> &dst, const List<Runs> &src);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_RUNS_H
