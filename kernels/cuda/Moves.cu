//===- Moves.cu - copy, repeat, embedding on a card -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CeilDiv.h"
#include "CudaKernels.h"
#include "MoveArguments.h"
#include "Moves.h"

#include <algorithm>

namespace cp::kernels::cuda {

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

template <typename Args>
static const char *moveOf(const char *op, const Call &call, void *stream) {
  Args args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  MoveShape shape;
  args.forEachDim([&](int64_t size, int64_t from, int64_t to) {
    shape.add(size, from, to);
  });
  return move(op, shape, int64_t(elementBytes(args.from->dtype)),
              args.from->data, args.to->data, stream);
}

const char *copy(const Call &call, void *stream) {
  return moveOf<CopyArgs>("copy", call, stream);
}

const char *repeat(const Call &call, void *stream) {
  return moveOf<RepeatArgs>("repeat", call, stream);
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
  EmbeddingArgs args;
  if (const char *message = decode(onDevice(call), args))
    return message;
  const Buffer &ids = *args.ids, &table = *args.table, &y = *args.y;
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
