//===- Moves.cu - copy, repeat, embedding on a card -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a call must be like, the processors' kernels check too; here it is read
// for any element type, of which only the size counts.
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Moves.h"
#include "OpArguments.h"

#include <algorithm>

namespace cp::kernels::cuda {

#define GET_READER_copy
#define GET_READER_repeat
#define GET_READER_embedding
#include "KernelReaders.inc"

template <typename Unit>
static const char *startMove(const char *op, const MoveShape &shape,
                             const void *from, void *to, void *stream) {
  int64_t count = shape.count();
  Grid grid = {ceilDiv(count, 256)};
  auto *source = static_cast<const Unit *>(from);
  auto *target = static_cast<Unit *>(to);
  if (count <= INT32_MAX)
    return launch(
        op, MoveUnits<Unit, uint32_t>{shape, uint32_t(count), source, target},
        grid, stream);
  return launch(
      op, MoveUnits<Unit, uint64_t>{shape, uint64_t(count), source, target},
      grid, stream);
}

/// The most bytes, at most 16, in which all of a move goes: its innermost
/// dimension has no gaps, and everything else is a multiple of them.
static int64_t unitBytes(const MoveShape &shape, int64_t element,
                         const void *from, const void *to) {
  if (!shape.rank || shape.from[shape.rank - 1] != 1 ||
      shape.to[shape.rank - 1] != 1)
    return element;
  int64_t all = int64_t(reinterpret_cast<uintptr_t>(from) |
                        reinterpret_cast<uintptr_t>(to)) |
                shape.sizes[shape.rank - 1] * element;
  for (int i = 0; i + 1 < shape.rank; ++i)
    all |= (shape.from[i] | shape.to[i]) * element;
  return std::max(element, std::min<int64_t>(16, all & -all));
}

static const char *move(const char *op, MoveShape shape, int64_t element,
                        const void *from, void *to, void *stream) {
  int64_t unit = unitBytes(shape, element, from, to), ratio = unit / element;
  if (ratio > 1) {
    for (int i = 0; i + 1 < shape.rank; ++i) {
      shape.from[i] /= ratio;
      shape.to[i] /= ratio;
    }
    shape.sizes[shape.rank - 1] /= ratio;
  }
  switch (unit) {
  case 2:
    return startMove<uint16_t>(op, shape, from, to, stream);
  case 4:
    return startMove<uint32_t>(op, shape, from, to, stream);
  case 8:
    return startMove<uint64_t>(op, shape, from, to, stream);
  default:
    return startMove<uint4>(op, shape, from, to, stream);
  }
}

static const char *checkTypes(Arguments &in, const char *op, const Buffer &from,
                              const Buffer &to) {
  in.expectType(to, "the output", from.dtype);
  if (!in.error() && elementBytes(from.dtype) == 0)
    return fail("%s: unknown element type %d; use one of cprt_dtype", op,
                static_cast<int>(from.dtype));
  return in.error();
}

const char *copy(const Call &call, void *stream) {
  Call there = onDevice(call);
  Arguments in(there, "copy");
  CopyAttributes attributes;
  read(in, attributes);
  const Buffer &from = in.anyInput("the input", 0);
  const Buffer &to = in.anyOutput("the output", 0);
  in.expectSameSizes(to, "the output", from, "the input", from.rank);
  if (const char *message = checkTypes(in, "copy", from, to))
    return message;
  MoveShape shape;
  for (int i = 0; i < from.rank; ++i)
    shape.add(from.sizes[i], from.strides[i], to.strides[i]);
  return move("copy", shape, int64_t(elementBytes(from.dtype)), from.data,
              to.data, stream);
}

const char *repeat(const Call &call, void *stream) {
  Call there = onDevice(call);
  Arguments in(there, "repeat");
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
  if (const char *message = checkTypes(in, "repeat", from, to))
    return message;
  MoveShape shape;
  for (int i = 0; i < from.rank; ++i) {
    int64_t source = from.strides[i], target = to.strides[i];
    if (i != dim) {
      shape.add(from.sizes[i], source, target);
      continue;
    }
    shape.add(from.sizes[i] / unit, unit * source, times * unit * target);
    shape.add(times, 0, unit * target);
    shape.add(unit, source, target);
  }
  return move("repeat", shape, int64_t(elementBytes(from.dtype)), from.data,
              to.data, stream);
}

template <typename Unit>
static const char *gather(const Buffer &ids, const Buffer &table,
                          const Buffer &y, int64_t ratio, void *stream) {
  MoveShape shape;
  for (int i = 0; i < ids.rank; ++i)
    shape.add(ids.sizes[i], ids.strides[i], y.strides[i] / ratio);
  int64_t rows = shape.count(), width = table.sizes[1] / ratio;
  auto start = [&](auto *data) {
    using Id = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    return launch(
        "embedding",
        GatherRows<Unit, Id>{
            rows, width, table.sizes[0], data, shape,
            static_cast<const Unit *>(table.data), table.strides[0] / ratio,
            ratio > 1 ? 1 : table.strides[1], static_cast<Unit *>(y.data),
            ratio > 1 ? 1 : y.strides[y.rank - 1], faultRecord()},
        {ceilDiv(rows * width, 256)}, stream);
  };
  return ids.dtype == DType::I32
             ? start(static_cast<const int32_t *>(ids.data))
             : start(static_cast<const int64_t *>(ids.data));
}

/// The elements of a unit in which rows go.
static int64_t elementsOfUnit(const Buffer &table, const Buffer &y) {
  auto element = int64_t(elementBytes(table.dtype));
  if (table.strides[1] != 1 || y.strides[y.rank - 1] != 1)
    return 1;
  int64_t all = int64_t(reinterpret_cast<uintptr_t>(table.data) |
                        reinterpret_cast<uintptr_t>(y.data)) |
                (table.sizes[1] | table.strides[0]) * element;
  for (int i = 0; i + 1 < y.rank; ++i)
    all |= y.strides[i] * element;
  return all & 15 ? 1 : 16 / element;
}

const char *embedding(const Call &call, void *stream) {
  Call there = onDevice(call);
  Arguments in(there, "embedding");
  EmbeddingAttributes attributes;
  read(in, attributes);
  const Buffer &ids = in.anyInput("ids", 0);
  const Buffer &table = in.anyInput("table", 2);
  const Buffer &y = in.anyOutput("y", 1);
  if (in.error())
    return in.error();
  if ((ids.dtype != DType::I32 && ids.dtype != DType::I64) || table.rank != 2 ||
      y.rank != ids.rank + 1 || !elementBytes(table.dtype))
    return fail("embedding: expected ids of i32 or i64, a table of rank 2, and "
                "y of one dimension more than ids, got %s and ranks %d, %d, %d",
                dtypeName(ids.dtype), ids.rank, table.rank, y.rank);
  in.expectType(y, "y", table.dtype);
  for (int32_t i = 0; i < ids.rank; ++i) {
    Dim size = {"the size", ids.sizes[i], "ids"};
    in.expectSize(y, "y", i, size);
  }
  Dim width = {"d", table.sizes[1], "table"};
  in.expectSize(y, "y", y.rank - 1, width);
  if (in.error())
    return in.error();
  int64_t ratio = elementsOfUnit(table, y);
  if (ratio > 1)
    return gather<uint4>(ids, table, y, ratio, stream);
  switch (elementBytes(table.dtype)) {
  case 2:
    return gather<uint16_t>(ids, table, y, 1, stream);
  case 4:
    return gather<uint32_t>(ids, table, y, 1, stream);
  default:
    return gather<uint64_t>(ids, table, y, 1, stream);
  }
}

} // namespace cp::kernels::cuda
