//===- Embedding.cpp - Rows of a table by their ids -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Elements.h"
#include "MoveArguments.h"
#include "MoveKernels.h"
#include "Rows.h"
#include "StridedCopy.h"

namespace cp::kernels {

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

const char *embeddingKernel(const Call &call) {
  EmbeddingArgs args;
  if (const char *message = decode(call, args))
    return message;
  Lookup lookup = {*args.ids, *args.table, *args.y,
                   elementOffsets(*args.ids, Slot::RowsIn),
                   rowOffsets(*args.y, Slot::RowsOut)};
  if (!lookup.idOffsets || !lookup.rowOffsets)
    return outOfMemory("embedding");
  return args.ids->dtype == DType::I32 ? gather<int32_t>(lookup)
                                       : gather<int64_t>(lookup);
}

} // namespace cp::kernels
