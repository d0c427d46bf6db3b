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

template <typename T>
static RowTensor<T> rowTensor(const Buffer &buffer, Slot slot) {
  return {static_cast<T *>(buffer.data), rowOffsets(buffer, slot),
          buffer.strides[buffer.rank - 1]};
}

/// Checks the sizes of `x`, `weight`, `gate` and `y` among each other.
template <typename T>
static void bindBuffers(Arguments &in, RmsNormArgs<T> &args, bool hasWeight,
                        const Buffer *(&found)[3]) {
  Dim c = {"c"};
  const Buffer &x = in.anyInput("x", 1);
  in.expectType(x, "x", Element<T>::dtype);
  in.expectSize(x, "x", x.rank - 1, c);
  if (hasWeight)
    args.weight = in.input<T>("weight", {&c});
  found[0] = &x;
  if (found[1]) {
    found[1] = &in.anyInput("gate", 1);
    in.expectType(*found[1], "gate", Element<T>::dtype);
    in.expectSameSizes(*found[1], "gate", x, "x", x.rank);
  }
  found[2] = &in.anyOutput("y", 1);
  in.expectType(*found[2], "y", Element<T>::dtype);
  in.expectSameSizes(*found[2], "y", x, "x", x.rank);
  in.expectDivides(c, {"groups", args.groups});
  args.c = c.size;
}

template <typename T>
const char *decode(const Call &call, RmsNormArgs<T> &args) {
  Arguments in(call, "rms_norm");
  in.expectAttributes(5);
  args.eps = in.real(0, "eps");
  args.gateFirst = in.flag(1, "gate_first");
  args.groups = in.positive(2, "groups");
  bool hasGate = in.flag(3, "has_gate");
  bool hasWeight = in.flag(4, "has_weight");
  in.expectBuffers(size_t(1) + hasGate + hasWeight, 1);
  if (in.error())
    return in.error();
  if (args.eps < 0)
    return fail("rms_norm: eps must not be negative, got %g", args.eps);

  const Buffer *found[3] = {nullptr, hasGate ? call.ins : nullptr, nullptr};
  bindBuffers(in, args, hasWeight, found);
  if (in.error())
    return in.error();

  args.rows = numRows(*found[0]);
  args.x = rowTensor<const T>(*found[0], Slot::RowsIn);
  args.y = rowTensor<T>(*found[2], Slot::RowsOut);
  if (hasGate)
    args.gate = rowTensor<const T>(*found[1], Slot::RowsGate);
  if (!args.x.rows || !args.y.rows || (hasGate && !args.gate.rows))
    return outOfMemory("rms_norm");
  return nullptr;
}

template const char *decode(const Call &, RmsNormArgs<float> &);
template const char *decode(const Call &, RmsNormArgs<double> &);
template const char *decode(const Call &, RmsNormArgs<BFloat16> &);

} // namespace cp::kernels
