//===- Tensors.cpp - The caller's tensors, padded and packed --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include <array>
#include <cstring>

using namespace cp;
using namespace cp::batch;

std::vector<int64_t> cp::batch::shapeWith(const cprt_batch_tensor &tensor,
                                          int sequenceDim, int64_t rows,
                                          int64_t tokens, bool isUniform) {
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
  shape[size_t(sequenceDim)] = tokens;
  if (!isUniform)
    shape[size_t(sequenceDim) - 1] = rows;
  return shape;
}

static bool isOnlyRead(const Field &field) {
  return field.sequenceDim < 0 || field.name == "attention_mask" ||
         field.name == "padding_mask";
}

/// One row of position_ids for all of them.
static cprt_batch_tensor repeatRow(const cprt_batch_tensor &tensor,
                                   int64_t rows, std::vector<char> &memory) {
  size_t bytes = size_t(tensor.shape[1]) * cprt_dtype_size(tensor.dtype);
  memory.resize(bytes * size_t(rows));
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(memory.data() + size_t(row) * bytes, tensor.data, bytes);
  cprt_batch_tensor repeated = tensor;
  repeated.shape[0] = rows;
  repeated.data = memory.data();
  return repeated;
}

/// What stands where no token of the caller's does.
using FillElement = std::array<char, 8>;

static Error fillOf(const Field &field, const Options &options,
                    FillElement &fill) {
  fill = {};
  cprt_dtype dtype = field.tensor->dtype;
  if (field.name == "input_ids") {
    if (dtype == CPRT_I32 && options.paddingId != int32_t(options.paddingId))
      return refuse(1, "the option padding_id is " +
                           std::to_string(options.paddingId) +
                           ", which is none of the 32 bits of input_ids");
    setInt(dtype, fill.data(), options.paddingId);
  } else if (field.name == "labels") {
    setInt(dtype, fill.data(), -100);
  } else if (field.tensor->fill && !isKnown(field.name)) {
    std::memcpy(fill.data(), field.tensor->fill, cprt_dtype_size(dtype));
  }
  return std::nullopt;
}

Error cp::batch::outline(const Field &field, const Stream &stream,
                         Stored &stored, View &view) {
  const cprt_batch_tensor &tensor = *field.tensor;
  if (Error failure = viewOf(tensor, field.sequenceDim, stream.originalRows,
                             stream.originalLength, stream.isUniform,
                             describe(field.name, tensor), view))
    return failure;
  view.rows = stream.isUniform ? 1 : stream.rows;
  if (Error failure =
          checkSize(view, stream.length, describe(field.name, tensor)))
    return failure;
  stored.dtype = tensor.dtype;
  stored.sequenceDim = field.sequenceDim;
  stored.shape = shapeWith(tensor, field.sequenceDim, stream.rows,
                           stream.length, stream.isUniform);
  return std::nullopt;
}

Error cp::batch::pad(const Field &field, const Stream &stream,
                     const Options &options, Stored &stored) {
  std::vector<char> memory;
  cprt_batch_tensor tensor = *field.tensor;
  if (field.name == "position_ids" && field.sequenceDim == 1 &&
      tensor.shape[0] == 1)
    tensor = repeatRow(tensor, stream.originalRows, memory);
  View view;
  if (Error failure = outline({field.name, &tensor, field.sequenceDim}, stream,
                              stored, view))
    return failure;
  FillElement fill;
  if (Error failure = fillOf(field, options, fill))
    return failure;
  stored.bytes.resize(
      size_t(view.outer * view.rows * stream.length * view.bytes));
  padRows(stream, view, static_cast<const char *>(tensor.data), fill.data(),
          cprt_dtype_size(tensor.dtype), stored.bytes.data());
  return std::nullopt;
}

Error cp::batch::makeTensors(const Fields &fields, const Stream &stream,
                             const Options &options, Tensors &tensors) {
  for (const Field &field : fields.list)
    if (!isOnlyRead(field))
      if (Error failure = pad(field, stream, options, tensors[field.name]))
        return failure;
  return std::nullopt;
}
