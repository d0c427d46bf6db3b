//===- Runs.h - Which elements of a dimension meet --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_RUNS_H
#define CP_LIB_RUNTIME_RUNS_H

#include "List.h"

#include "cp/Layout/Layout.h"

namespace cp::runtime {

using cp::Cut;
using cp::CutRuns;
using cp::Run;
using cp::Segment;

/// What is both in `dst` and in `src`, which number (parts of) the same
/// dimension globally. Two or more striped parts give a segment for each run of
/// `src`, all else at most three for each pair.
template <typename DstRuns, typename SrcRuns>
List<Segment> intersect(const DstRuns &dst, const SrcRuns &src) {
  List<Segment> segments;
  forEachCommon(dst, src,
                [&](const Segment &segment) { segments.push_back(segment); });
  return segments;
}

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_RUNS_H
