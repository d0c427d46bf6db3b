//===- RmsNormArguments.cpp - Decoding of rms_norm ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Rows.h"

namespace cp::kernels {

#define GET_READER_rms_norm
#include "KernelReaders.inc"

template <typename T>
static RowTensor<T> rowTensor(const Buffer &buffer, Slot slot) {
  return {static_cast<T *>(buffer.data), rowOffsets(buffer, slot),
          buffer.strides[buffer.rank - 1]};
}

namespace {
/// The buffers that are worked on row by row.
struct Rows {
  const Buffer *x = nullptr, *gate = nullptr, *y = nullptr;
};
} // namespace

/// Checks the sizes of `x`, `weight`, `gate` and `y` among each other.
template <typename T>
static void bindBuffers(Arguments &in, RmsNormArgs<T> &args, Rows &found) {
  Dim c = {"c"};
  const Buffer &x = in.anyInput("x", 1);
  in.expectType(x, "x", Element<T>::dtype);
  in.expectSize(x, "x", x.rank - 1, c);
  args.weight = in.optionalInput<T>("weight", {&c});
  found.x = &x;
  if (in.hasNext()) {
    found.gate = &in.anyInput("gate", 1);
    in.expectType(*found.gate, "gate", Element<T>::dtype);
    in.expectSameSizes(*found.gate, "gate", x, "x", x.rank);
  }
  found.y = &in.anyOutput("y", 1);
  in.expectType(*found.y, "y", Element<T>::dtype);
  in.expectSameSizes(*found.y, "y", x, "x", x.rank);
  in.expectDivides(c, {"groups", args.groups});
  args.c = c.size;
}

template <typename T>
const char *decode(const Call &call, RmsNormArgs<T> &args) {
  Arguments in(call, "rms_norm");
  RmsNormAttributes attributes;
  read(in, attributes);
  if (in.error())
    return in.error();
  args.eps = attributes.eps;
  args.gateFirst = attributes.gateFirst;
  args.groups = attributes.groups;
  if (args.eps < 0)
    return fail("rms_norm: eps must not be negative, got %g", args.eps);

  Rows found;
  bindBuffers(in, args, found);
  if (in.error())
    return in.error();

  args.rows = numRows(*found.x);
  args.x = rowTensor<const T>(*found.x, Slot::RowsIn);
  args.y = rowTensor<T>(*found.y, Slot::RowsOut);
  if (found.gate)
    args.gate = rowTensor<const T>(*found.gate, Slot::RowsGate);
  if (!args.x.rows || !args.y.rows || (found.gate && !args.gate.rows))
    return outOfMemory("rms_norm");
  return nullptr;
}

template const char *decode(const Call &, RmsNormArgs<float> &);
template const char *decode(const Call &, RmsNormArgs<double> &);
template const char *decode(const Call &, RmsNormArgs<BFloat16> &);

} // namespace cp::kernels
