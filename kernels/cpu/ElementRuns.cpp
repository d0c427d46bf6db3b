//===- ElementRuns.cpp - Several tensors, run by run ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementRuns.h"

namespace cp::kernels {

void ElementRuns::add(const Buffer &buffer) {
  if (numTensors == 0) {
    rank = buffer.rank;
    for (int dim = 0; dim < rank; ++dim)
      sizes[dim] = buffer.sizes[dim];
  }
  for (int dim = 0; dim < rank; ++dim)
    strides[numTensors][dim] = buffer.strides[dim];
  ++numTensors;
}

/// Whether dimension `dim` + 1 goes on where one of `dim` ends, in all tensors.
bool ElementRuns::continues(int dim) const {
  for (int tensor = 0; tensor < numTensors; ++tensor)
    if (strides[tensor][dim] != sizes[dim + 1] * strides[tensor][dim + 1])
      return false;
  return true;
}

void ElementRuns::finish() {
  if (rank == 0) {
    // One element is a run of one.
    sizes[0] = 1;
    for (int tensor = 0; tensor < numTensors; ++tensor)
      strides[tensor][0] = 1;
    return;
  }
  int last = rank - 1;
  while (last > 0 && continues(last - 1)) {
    sizes[last - 1] *= sizes[last];
    for (int tensor = 0; tensor < numTensors; ++tensor)
      strides[tensor][last - 1] = strides[tensor][last];
    --last;
  }
  rank = last;
  runLength = sizes[last];
  for (int dim = 0; dim < last; ++dim)
    numRuns *= sizes[dim];
}

bool ElementRuns::isDense() const {
  for (int tensor = 0; tensor < numTensors; ++tensor)
    if (strides[tensor][rank] != 1 && runLength != 1)
      return false;
  return true;
}

} // namespace cp::kernels
