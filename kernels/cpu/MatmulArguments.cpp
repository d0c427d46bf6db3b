//===- MatmulArguments.cpp - Decoding of matmul and contract_rows ---------===//
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
#define GET_READER_contract_rows
#include "KernelReaders.inc"

template <typename T>
const char *decode(const Call &call, MatmulBuffers<T> &args) {
  Arguments in(call, "matmul");
  MatmulAttributes attributes;
  read(in, attributes);
  args.accumulate = attributes.accumulate;
  args.transposed = attributes.transposeB;

  Dim n = {"n"}, k = {"k"};
  const Buffer &a = in.anyInput("A", 1);
  in.expectType(a, "A", Element<T>::dtype);
  in.expectSize(a, "A", a.rank - 1, k);
  args.w =
      args.transposed ? in.input<T>("W", {&n, &k}) : in.input<T>("W", {&k, &n});
  const Buffer &c = in.anyOutput("C", 1);
  in.expectType(c, "C", Element<T>::dtype);
  in.expectSameSizes(c, "C", a, "A", a.rank - 1);
  in.expectSize(c, "C", c.rank - 1, n);
  args.a = &a;
  args.c = &c;
  args.n = n.size;
  args.k = k.size;
  return in.error();
}

template <typename T>
const char *decode(const Call &call, MatmulArgs<T> &args) {
  MatmulBuffers<T> from;
  if (const char *message = decode(call, from))
    return message;
  const Buffer &a = *from.a, &c = *from.c;
  args.accumulate = from.accumulate;
  args.m = numRows(a);
  args.n = from.n;
  args.k = from.k;
  args.w = from.w;
  if (from.transposed)
    std::swap(args.w.strides[0], args.w.strides[1]);
  args.a = {static_cast<const T *>(Arguments::dataOf(a)),
            rowOffsets(a, Slot::RowsIn), a.strides[a.rank - 1]};
  args.c = {static_cast<T *>(Arguments::dataOf(c)),
            rowOffsets(c, Slot::RowsOut), c.strides[c.rank - 1]};
  return args.a.rows && args.c.rows ? nullptr : outOfMemory("matmul");
}

template <typename T>
const char *decode(const Call &call, ContractRowsBuffers<T> &args) {
  Arguments in(call, "contract_rows");
  ContractRowsAttributes attributes;
  read(in, attributes);
  args.accumulate = attributes.accumulate;

  Dim m = {"m"}, n = {"n"};
  const Buffer &a = in.anyInput("A", 1), &w = in.anyInput("B", 1);
  in.expectType(a, "A", Element<T>::dtype);
  in.expectType(w, "B", Element<T>::dtype);
  in.expectSize(a, "A", a.rank - 1, m);
  in.expectSameSizes(w, "B", a, "A", a.rank - 1);
  in.expectSize(w, "B", w.rank - 1, n);
  args.c = in.output<AccumulatorOf<T>>("C", {&m, &n});
  args.a = &a;
  args.b = &w;
  args.m = m.size;
  args.n = n.size;
  return in.error();
}

template <typename T>
const char *decodeRows(const Call &call,
                       MatmulArgs<T, AccumulatorOf<T>> &args) {
  ContractRowsBuffers<T> from;
  if (const char *message = decode(call, from))
    return message;
  const Buffer &a = *from.a, &w = *from.b;
  const auto &c = from.c;
  args.accumulate = from.accumulate;
  args.m = from.m;
  args.n = from.n;
  args.k = numRows(a);
  args.a = {static_cast<const T *>(Arguments::dataOf(a)), nullptr,
            a.strides[a.rank - 1]};
  args.w = {static_cast<const T *>(Arguments::dataOf(w)),
            {0, w.strides[w.rank - 1]}};
  args.aDepth = rowOffsets(a, Slot::RowsIn);
  args.wDepth = rowOffsets(w, Slot::RowsGate);
  auto *rows = static_cast<int64_t *>(
      scratch(Slot::RowsOut, static_cast<size_t>(args.m) * sizeof(int64_t)));
  if (!args.aDepth || !args.wDepth || !rows)
    return outOfMemory("contract_rows");
  for (int64_t i = 0; i < args.m; ++i)
    rows[i] = i * c.strides[0];
  args.c = {c.data, rows, c.strides[1]};
  return nullptr;
}

template const char *decodeRows(const Call &, MatmulArgs<float> &);
template const char *decodeRows(const Call &, MatmulArgs<double> &);
template const char *decodeRows(const Call &, MatmulArgs<BFloat16, float> &);

template const char *decode(const Call &, MatmulBuffers<float> &);
template const char *decode(const Call &, MatmulBuffers<double> &);
template const char *decode(const Call &, MatmulBuffers<BFloat16> &);

template const char *decode(const Call &, ContractRowsBuffers<float> &);
template const char *decode(const Call &, ContractRowsBuffers<double> &);
template const char *decode(const Call &, ContractRowsBuffers<BFloat16> &);

template const char *decode(const Call &, MatmulArgs<float> &);
template const char *decode(const Call &, MatmulArgs<double> &);
template const char *decode(const Call &, MatmulArgs<BFloat16> &);

} // namespace cp::kernels
