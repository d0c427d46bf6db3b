//===- MatmulArguments.cpp - Decoding of matmul ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Rows.h"

#include <utility>

namespace cp::kernels {

#define GET_READER_matmul
#include "KernelReaders.inc"

template <typename T>
const char *decode(const Call &call, MatmulArgs<T> &args) {
  Arguments in(call, "matmul");
  MatmulAttributes attributes;
  read(in, attributes);
  args.accumulate = attributes.accumulate;
  bool transposed = attributes.transposeB;

  Dim n = {"n"}, k = {"k"};
  const Buffer &a = in.anyInput("A", 1);
  in.expectType(a, "A", Element<T>::dtype);
  in.expectSize(a, "A", a.rank - 1, k);
  View<const T, 2> w =
      transposed ? in.input<T>("W", {&n, &k}) : in.input<T>("W", {&k, &n});
  const Buffer &c = in.anyOutput("C", 1);
  in.expectType(c, "C", Element<T>::dtype);
  in.expectSameSizes(c, "C", a, "A", a.rank - 1);
  in.expectSize(c, "C", c.rank - 1, n);
  if (in.error())
    return in.error();

  args.m = numRows(a);
  args.n = n.size;
  args.k = k.size;
  args.w = w;
  if (transposed)
    std::swap(args.w.strides[0], args.w.strides[1]);
  args.a = {static_cast<const T *>(a.data), rowOffsets(a, Slot::RowsIn),
            a.strides[a.rank - 1]};
  args.c = {static_cast<T *>(c.data), rowOffsets(c, Slot::RowsOut),
            c.strides[c.rank - 1]};
  return args.a.rows && args.c.rows ? nullptr : outOfMemory("matmul");
}

template const char *decode(const Call &, MatmulArgs<float> &);
template const char *decode(const Call &, MatmulArgs<double> &);
template const char *decode(const Call &, MatmulArgs<BFloat16> &);

} // namespace cp::kernels
