//===- PlaceRows.cpp - The places of a rank's rows ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Positions.h"

using namespace cp::runtime;

static void writePlaces(const Buffer &out, const std::vector<int64_t> &runs) {
  auto *place = static_cast<int64_t *>(out.data);
  for (size_t run = 0; run < runs.size(); run += 3)
    for (int64_t i = 0; i < runs[run + 1]; ++i, place += out.strides[0])
      *place = runs[run] + i * runs[run + 2];
}

static Result placeRows(Context &context, const Descriptor &call) {
  if (Result failure = call.expectCounts(0, 1))
    return failure;
  const Buffer &out = call.out(0);
  if (out.rank != 1 || out.dtype != DType::I64)
    return call.invalid(call.label(0) + " is " + typeText(out) +
                        ", expected i64[l]");
  AttrReader attrs(call);
  SequenceCut cut;
  cut.axes = attrs.array("axes");
  cut.orders = attrs.array("orders");
  if (Result failure = attrs.finish())
    return failure;
  const Positions *positions = nullptr;
  if (Result failure =
          findPositions(context, call, "", cut, out.sizes[0], positions))
    return failure;
  writePlaces(out, positions->own());
  return std::nullopt;
}

extern "C" void cprt_positions(cprt_context *context, cprt_stream *stream,
                               const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "positions", placeRows);
}
