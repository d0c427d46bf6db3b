//===- Embedding.cpp - Rows of a table by their ids -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "MoveKernels.h"
#include "OpArguments.h"
#include "Rows.h"
#include "StridedCopy.h"

namespace cp::kernels {

#define GET_READER_embedding
#include "KernelReaders.inc"

namespace {
/// The ids and the rows they name, in row-major order of the ids.
struct Lookup {
  const Buffer &ids, &table, &y;
  const int64_t *idOffsets, *rowOffsets;
};
} // namespace

template <typename Id> static const char *gather(const Lookup &lookup) {
  const Buffer &table = lookup.table;
  auto bytes = static_cast<int64_t>(elementBytes(table.dtype));
  StridedCopy row = {};
  row.elementBytes = elementBytes(table.dtype);
  row.addDim(table.sizes[1], table.strides[1],
             lookup.y.strides[lookup.y.rank - 1]);
  int64_t count = numRows(lookup.y);
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = static_cast<const Id *>(lookup.ids.data)[lookup.idOffsets[i]];
    if (id < 0 || id >= table.sizes[0])
      return fail("embedding: id %lld (number %lld) must be in [0, %lld), the "
                  "rows of the table; check the tokenizer's vocabulary",
                  static_cast<long long>(id), static_cast<long long>(i),
                  static_cast<long long>(table.sizes[0]));
    row.run(static_cast<const char *>(table.data) +
                id * table.strides[0] * bytes,
            static_cast<char *>(lookup.y.data) + lookup.rowOffsets[i] * bytes);
  }
  return nullptr;
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

const char *embeddingKernel(const Call &call) {
  Arguments in(call, "embedding");
  EmbeddingAttributes attributes;
  read(in, attributes);
  const Buffer &ids = in.anyInput("ids", 0);
  const Buffer &table = in.anyInput("table", 2);
  const Buffer &y = in.anyOutput("y", 1);
  if (const char *message = checkShapes(in, ids, table, y))
    return message;

  Lookup lookup = {ids, table, y, elementOffsets(ids, Slot::RowsIn),
                   rowOffsets(y, Slot::RowsOut)};
  if (!lookup.idOffsets || !lookup.rowOffsets)
    return outOfMemory("embedding");
  return ids.dtype == DType::I32 ? gather<int32_t>(lookup)
                                 : gather<int64_t>(lookup);
}

} // namespace cp::kernels
