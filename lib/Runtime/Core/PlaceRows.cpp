//===- PlaceRows.cpp - The places of a rank's rows ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace cp::runtime;

static void writePlaces(const Buffer &out, const std::vector<int64_t> &runs) {
  auto *place = static_cast<int64_t *>(out.data);
  for (size_t run = 0; run < runs.size(); run += 3)
    for (int64_t i = 0; i < runs[run + 1]; ++i, place += out.strides[0])
      *place = runs[run] + i * runs[run + 2];
}

Error cp::runtime::operations::positions(Context &context,
                                         const Descriptor &call) {
  const Buffer &out = call.out(0);
  if (out.rank != 1 || out.dtype != DType::I64)
    return call.invalid(call.label(0) + " is " + typeText(out) +
                        ", expected i64[l]");
  PositionsAttributes attrs(call);
  const Positions *positions = nullptr;
  if (Error failure =
          findPositions(context, call, "", {attrs.axes, attrs.orders},
                        out.sizes[0], positions))
    return failure;
  writePlaces(out, positions->own());
  return std::nullopt;
}
