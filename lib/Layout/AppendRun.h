//===- AppendRun.h - Lists of neighbours ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_LAYOUT_APPENDRUN_H
#define CP_LIB_LAYOUT_APPENDRUN_H

#include "cp/Layout/Runs.h"

namespace cp {

/// Appends a run of `length` elements, if there are any, behind the last single
/// run, with which it is one where they touch.
inline void appendRun(std::vector<Run> &runs, int64_t global, int64_t length) {
  if (length <= 0)
    return;
  if (runs.empty()) {
    runs.push_back({global, 0, length});
    return;
  }
  Run &last = runs.back();
  if (last.end() == global)
    last.length += length;
  else
    runs.push_back({global, last.local + last.length, length});
}

} // namespace cp

#endif // CP_LIB_LAYOUT_APPENDRUN_H
