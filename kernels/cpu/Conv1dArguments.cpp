//===- Conv1dArguments.cpp - Decoding of conv1d ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

template <typename T>
const char *decode(const Call &call, Conv1dArgs<T> &args) {
  Arguments in(call, "conv1d");
  in.expectAttributes(3);
  bool hasBias = in.flag(0, "has_bias");
  bool hasInitial = in.flag(1, "has_initial");
  args.silu = in.flag(2, "silu");
  in.expectBuffers(size_t(2) + hasBias + hasInitial, 1);

  Dim b = {"b"}, l = {"l"}, c = {"c"}, w = {"w"};
  args.x = in.input<T>("x", {&b, &l, &c});
  args.weight = in.input<T>("weight", {&c, &w});
  if (!in.error() && w.size < 1)
    return fail("conv1d: weight[c, w] must have w of at least 1, got 0");
  if (hasBias)
    args.bias = in.input<T>("bias", {&c});
  Dim before = {"w - 1", w.size - 1, "weight"};
  if (hasInitial)
    args.initial = in.input<T>("initial", {&b, &before, &c});
  args.y = in.output<T>("y", {&b, &l, &c});

  args.b = b.size;
  args.l = l.size;
  args.c = c.size;
  args.w = w.size;
  return in.error();
}

template const char *decode(const Call &, Conv1dArgs<float> &);
template const char *decode(const Call &, Conv1dArgs<double> &);
template const char *decode(const Call &, Conv1dArgs<BFloat16> &);

} // namespace cp::kernels
