//===- SsdHalves.h - A scan as two ranks compute it -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_SSDHALVES_H
#define CP_BENCHMARKS_SSDHALVES_H

#include "KernelCase.h"

namespace cp::bench {

/// Runs what `ssdCase` made with the sequence cut in two: ssd_states of both
/// parts, then ssd_scan of each from the state that precedes it. Null, or what
/// a kernel says; null too means that outs are written.
const char *runInHalves(KernelCase &ssd);

} // namespace cp::bench

#endif // CP_BENCHMARKS_SSDHALVES_H
