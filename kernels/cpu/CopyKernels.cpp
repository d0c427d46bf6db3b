//===- CopyKernels.cpp - copy and repeat ----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "MoveKernels.h"
#include "OpArguments.h"
#include "StridedCopy.h"

namespace cp::kernels {

#define GET_READER_copy
#define GET_READER_repeat
#include "KernelReaders.inc"

/// Checks that the type is known, and the same on both sides.
static const char *checkTypes(Arguments &in, const char *op, const Buffer &from,
                              const Buffer &to) {
  in.expectType(to, "the output", from.dtype);
  if (!in.error() && elementBytes(from.dtype) == 0)
    return fail("%s: unknown element type %d; use one of cprt_dtype", op,
                static_cast<int>(from.dtype));
  return in.error();
}

const char *copyKernel(const Call &call) {
  Arguments in(call, "copy");
  CopyAttributes attributes;
  read(in, attributes);
  const Buffer &from = in.anyInput("the input", 0);
  const Buffer &to = in.anyOutput("the output", 0);
  in.expectSameSizes(to, "the output", from, "the input", from.rank);
  if (const char *message = checkTypes(in, "copy", from, to))
    return message;

  StridedCopy copy = {};
  copy.elementBytes = elementBytes(from.dtype);
  for (int32_t i = 0; i < from.rank; ++i)
    copy.addDim(from.sizes[i], from.strides[i], to.strides[i]);
  copy.run(from.data, to.data);
  return nullptr;
}

/// Dimension `dim` becomes three: runs, copies of a run, elements of a run. The
/// source's stride over the copies is 0.
static StridedCopy repeatAsCopy(const Buffer &from, const Buffer &to,
                                int64_t dim, int64_t times, int64_t unit) {
  StridedCopy copy = {};
  copy.elementBytes = elementBytes(from.dtype);
  for (int32_t i = 0; i < from.rank; ++i) {
    int64_t fromStride = from.strides[i], toStride = to.strides[i];
    if (i != dim) {
      copy.addDim(from.sizes[i], fromStride, toStride);
      continue;
    }
    copy.addDim(from.sizes[i] / unit, unit * fromStride,
                times * unit * toStride);
    copy.addDim(times, 0, unit * toStride);
    copy.addDim(unit, fromStride, toStride);
  }
  return copy;
}

const char *repeatKernel(const Call &call) {
  Arguments in(call, "repeat");
  RepeatAttributes attributes;
  read(in, attributes);
  auto [dim, times, unit] = attributes;
  const Buffer &from = in.anyInput("the input", 1);
  const Buffer &to = in.anyOutput("the output", 1);
  in.expectDimension("dim", dim, from.rank);
  for (int32_t i = 0; i < from.rank && !in.error(); ++i) {
    if (i == dim)
      in.expectDivides({"the size of the repeated dimension", from.sizes[i]},
                       {"unit", unit});
    Dim size = {i == dim ? "times * size" : "the size",
                from.sizes[i] * (i == dim ? times : 1), "the input"};
    if (to.rank != from.rank)
      in.expectSameSizes(to, "the output", from, "the input", 0);
    else
      in.expectSize(to, "the output", i, size);
  }
  if (const char *message = checkTypes(in, "repeat", from, to))
    return message;
  repeatAsCopy(from, to, dim, times, unit).run(from.data, to.data);
  return nullptr;
}

} // namespace cp::kernels
