//===- SumRowsArguments.cpp - Decodes calls of sum_rows -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

template <typename T>
const char *decode(const Call &call, SumRowsArgs<T> &args) {
  Arguments in(call, "sum_rows");
  in.expectAttributes(0);
  in.expectBuffers(1, 1, 1, 1);
  if (in.error())
    return in.error();
  Dim r = {"r"}, n = {"n"};
  args.x = in.input<T>("x", {&r, &n});
  args.y = in.output<T>("y", {&n});
  args.r = r.size;
  args.n = n.size;
  if (!in.error() && args.r < 1)
    return fail("sum_rows: x has no rows, expected one or more");
  return in.error();
}

template const char *decode(const Call &, SumRowsArgs<float> &);
template const char *decode(const Call &, SumRowsArgs<double> &);
template const char *decode(const Call &, SumRowsArgs<BFloat16> &);

} // namespace cp::kernels
