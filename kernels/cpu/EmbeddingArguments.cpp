//===- EmbeddingArguments.cpp - Decoding of embedding_grad ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "Rows.h"

namespace cp::kernels {

#define GET_READER_embedding_grad
#include "KernelReaders.inc"

template <typename T>
const char *decode(const Call &call, EmbeddingGradBuffers<T> &args) {
  Arguments in(call, "embedding_grad");
  EmbeddingGradAttributes attributes;
  read(in, attributes);
  const Buffer &ids = in.anyInput("ids", 0);
  const Buffer &dy = in.anyInput("dy", 1);
  in.expectType(dy, "dy", Element<T>::dtype);
  Dim v = {"v"}, d = {"d"};
  in.expectSize(dy, "dy", dy.rank - 1, d);
  args.dtable = in.output<AccumulatorOf<T>>("dtable", {&v, &d});
  if (in.error())
    return in.error();
  if (ids.dtype != DType::I32 && ids.dtype != DType::I64)
    return fail("embedding_grad: ids must be i32 or i64, got %s",
                dtypeName(ids.dtype));
  if (dy.rank != ids.rank + 1)
    return fail("embedding_grad: dy must have one dimension more than ids, got "
                "ranks %d and %d for ids and dy",
                ids.rank, dy.rank);
  for (int32_t i = 0; i < ids.rank; ++i) {
    Dim size = {"the size", ids.sizes[i], "ids"};
    in.expectSize(dy, "dy", i, size);
  }
  if (in.error())
    return in.error();
  args.rows = numRows(dy);
  args.v = v.size;
  args.d = d.size;
  args.ids = &ids;
  args.dy = &dy;
  return nullptr;
}

template <typename T>
const char *decode(const Call &call, EmbeddingGradArgs<T> &args) {
  EmbeddingGradBuffers<T> from;
  if (const char *wrong = decode(call, from))
    return wrong;
  static_cast<EmbeddingGradShape<T> &>(args) = from;
  args.ids = from.ids->data;
  args.hasWideIds = from.ids->dtype == DType::I64;
  args.idRows = elementOffsets(*from.ids, Slot::RowsIn);
  args.dy = rowTensor<const T>(from.dy, Slot::RowsOut);
  if (!args.idRows || !args.dy.rows)
    return outOfMemory("embedding_grad");
  return nullptr;
}

template const char *decode(const Call &, EmbeddingGradBuffers<float> &);
template const char *decode(const Call &, EmbeddingGradBuffers<double> &);
template const char *decode(const Call &, EmbeddingGradBuffers<BFloat16> &);

template const char *decode(const Call &, EmbeddingGradArgs<float> &);
template const char *decode(const Call &, EmbeddingGradArgs<double> &);
template const char *decode(const Call &, EmbeddingGradArgs<BFloat16> &);

} // namespace cp::kernels
