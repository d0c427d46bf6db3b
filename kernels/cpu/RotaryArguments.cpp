//===- RotaryArguments.cpp - Decoding of rotary ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

/// What no dimension of a buffer says.
static const char *checkRotation(int64_t dims, double theta, int64_t channels) {
  if (dims % 2 != 0 || dims > channels)
    return fail("rotary: dims must be even and at most p = %lld, got %lld",
                static_cast<long long>(channels), static_cast<long long>(dims));
  if (!(theta > 0))
    return fail("rotary: theta must be above 0, got %g", theta);
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, RotaryArgs<T> &args) {
  Arguments in(call, "rotary");
  in.expectAttributes(2);
  args.dims = in.positive(0, "dims");
  args.theta = in.real(1, "theta");
  in.expectBuffers(2, 1);
  Dim b = {"b"}, l = {"l"}, h = {"h"}, p = {"p"};
  args.x = in.input<T>("x", {&b, &l, &h, &p});
  const Buffer &positions = in.anyInput("positions", 1);
  in.expectType(positions, "positions", DType::I64);
  if (!in.error() && positions.rank != 1)
    return fail("rotary: positions must have rank 1, got %d", positions.rank);
  in.expectSize(positions, "positions", 0, l);
  args.y = in.output<T>("y", {&b, &l, &h, &p});
  if (in.error())
    return in.error();
  args.positions = {static_cast<const int64_t *>(positions.data),
                    {positions.strides[0]}};
  args.b = b.size;
  args.l = l.size;
  args.h = h.size;
  args.p = p.size;
  return checkRotation(args.dims, args.theta, args.p);
}

template const char *decode(const Call &, RotaryArgs<float> &);
template const char *decode(const Call &, RotaryArgs<double> &);
template const char *decode(const Call &, RotaryArgs<BFloat16> &);

} // namespace cp::kernels
