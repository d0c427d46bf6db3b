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

/// They are the same in every step, so a device has them from the first one on.
static Error bringPlaces(DeviceQueue &device, const Descriptor &call,
                         const Positions &positions) {
  static constexpr int64_t dense[] = {1};
  const std::vector<int64_t> &rows = positions.ownRows();
  if (rows.empty())
    return std::nullopt;
  Error failure;
  void *there = device.constant(
      rows.data(), int64_t(rows.size() * sizeof(int64_t)), failure);
  if (failure)
    return failure;
  const Buffer &out = call.out(0);
  return device.copyMapped(call, out, {there, out.dtype, 1, out.sizes, dense},
                           {});
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
  if (DeviceQueue *device = context.deviceOfCall())
    return bringPlaces(*device, call, *positions);
  writePlaces(out, positions->own());
  return std::nullopt;
}
