//===- MoveArguments.cpp - Decoding of copy, repeat, embedding ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveArguments.h"

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

#define GET_READER_copy
#define GET_READER_repeat
#define GET_READER_embedding
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

const char *decode(const Call &call, CopyArgs &args) {
  Arguments in(call, "copy");
  CopyAttributes attributes;
  read(in, attributes);
  const Buffer &from = in.anyInput("the input", 0);
  const Buffer &to = in.anyOutput("the output", 0);
  in.expectSameSizes(to, "the output", from, "the input", from.rank);
  args.from = &from;
  args.to = &to;
  return checkTypes(in, "copy", from, to);
}

const char *decode(const Call &call, RepeatArgs &args) {
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
  args.from = &from;
  args.to = &to;
  args.dim = dim;
  args.times = times;
  args.unit = unit;
  return checkTypes(in, "repeat", from, to);
}

static const char *checkShapes(Arguments &in, const Buffer &ids,
                               const Buffer &table, const Buffer &y) {
  if (in.error())
    return in.error();
  if (ids.dtype != DType::I32 && ids.dtype != DType::I64)
    return fail("embedding: ids must be i32 or i64, got %s",
                dtypeName(ids.dtype));
  if (elementBytes(table.dtype) == 0)
    return fail("embedding: unknown element type %d of table; use one of "
                "cprt_dtype",
                static_cast<int>(table.dtype));
  if (table.rank != 2 || y.rank != ids.rank + 1)
    return fail("embedding: table must have rank 2 and y one dimension more "
                "than ids, got ranks %d, %d and %d for ids, table and y",
                ids.rank, table.rank, y.rank);
  in.expectType(y, "y", table.dtype);
  for (int32_t i = 0; i < ids.rank; ++i) {
    Dim size = {"the size", ids.sizes[i], "ids"};
    in.expectSize(y, "y", i, size);
  }
  Dim width = {"d", table.sizes[1], "table"};
  in.expectSize(y, "y", y.rank - 1, width);
  return in.error();
}

const char *decode(const Call &call, EmbeddingArgs &args) {
  Arguments in(call, "embedding");
  EmbeddingAttributes attributes;
  read(in, attributes);
  args.ids = &in.anyInput("ids", 0);
  args.table = &in.anyInput("table", 2);
  args.y = &in.anyOutput("y", 1);
  return checkShapes(in, *args.ids, *args.table, *args.y);
}

} // namespace cp::kernels
