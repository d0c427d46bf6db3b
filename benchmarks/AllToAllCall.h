//===- AllToAllCall.h - MPI_Alltoall as a call of the runtime ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_ALLTOALLCALL_H
#define CP_BENCHMARKS_ALLTOALLCALL_H

#include "cp/Runtime/cprt.h"

#include <vector>

namespace cp::bench {

/// Of f32 x[1, ranks * count] to y[ranks, count]: each rank gets `count`
/// elements from every rank, as from MPI_Alltoall.
inline std::vector<int64_t> allToAllCall(int64_t ranks, int64_t count) {
  int64_t row = ranks * count;
  // axes, concat_dims, concat_orders, repeat_times, repeat_units, split_dims,
  // split_orders; each a list of one.
  std::vector<int64_t> attrs = {1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0};
  std::vector<int64_t> words = {1,     1,        int64_t(attrs.size()),
                                0,     CPRT_F32, 2,
                                1,     row,      row,
                                1,     CPRT_F32, 2,
                                ranks, count,    count,
                                1};
  words.insert(words.end(), attrs.begin(), attrs.end());
  return words;
}

} // namespace cp::bench

#endif // CP_BENCHMARKS_ALLTOALLCALL_H
