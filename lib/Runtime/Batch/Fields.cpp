//===- Fields.cpp - The tensors that a batch is made of -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fields.h"

#include <algorithm>
#include <cstring>

using namespace cp;
using namespace cp::batch;

namespace {
struct KnownField {
  const char *name;
  const char *shape;
  int least, most;
  bool integral;
  /// -1: no tokens.
  int sequenceDim;
};
} // namespace

static constexpr KnownField knownFields[] = {
    {"input_ids", "[B, S]", 2, 2, true, 1},
    {"inputs_embeds", "[B, S, H]", 3, 3, false, 1},
    {"labels", "[B, S]", 2, 2, true, 1},
    {"loss_mask", "[B, S]", 2, 2, false, 1},
    // Of three dimensions it is the last.
    {"position_ids", "[B, S], [1, S] or [k, B, S]", 2, 3, true, 1},
    {"attention_mask", "[B, S]", 2, 2, true, 1},
    {"padding_mask", "[B, S]", 2, 2, true, 1},
    {"seq_lens", "[B, n]", 2, 2, true, -1},
    {"seq_lens_padded", "[B, n]", 2, 2, true, -1},
};
/// What a batch gives under these names it makes itself.
static constexpr const char *madeNames[] = {"cu_seqlens", "cu_seqlens_padded",
                                            "max_seqlen", "indices"};

const Field *Fields::find(std::string_view name) const {
  auto found = std::find_if(list.begin(), list.end(),
                            [&](const Field &f) { return f.name == name; });
  return found == list.end() ? nullptr : &*found;
}

static const char *typeName(cprt_dtype dtype) {
  static constexpr const char *names[] = {"f32", "f64", "bf16", "i32", "i64"};
  static_assert(CPRT_F32 == 0 && CPRT_I64 == 4);
  return names[dtype];
}

bool cp::batch::isIntegral(cprt_dtype dtype) {
  return dtype == CPRT_I32 || dtype == CPRT_I64;
}

int64_t cp::batch::intAt(const cprt_batch_tensor &tensor, int64_t index) {
  const char *at = static_cast<const char *>(tensor.data);
  if (tensor.dtype == CPRT_I64) {
    int64_t wide;
    std::memcpy(&wide, at + index * int64_t(sizeof(wide)), sizeof(wide));
    return wide;
  }
  int32_t narrow;
  std::memcpy(&narrow, at + index * int64_t(sizeof(narrow)), sizeof(narrow));
  return narrow;
}

void cp::batch::setInt(cprt_dtype dtype, char *element, int64_t value) {
  if (dtype == CPRT_I64) {
    std::memcpy(element, &value, sizeof(value));
    return;
  }
  auto narrow = int32_t(value);
  std::memcpy(element, &narrow, sizeof(narrow));
}

std::string cp::batch::describe(const std::string &name,
                                const cprt_batch_tensor &tensor) {
  return "'" + name + "' of " +
         runtime::listText(tensor.shape, size_t(tensor.rank));
}

Error cp::batch::checkTensor(const cprt_batch_tensor &tensor,
                             const std::string &name, bool needsData) {
  int type = 0;
  static_assert(sizeof(type) == sizeof(tensor.dtype));
  std::memcpy(&type, &tensor.dtype, sizeof(type));
  if (type < CPRT_F32 || type > CPRT_I64)
    return refuse(2, "'" + name + "' has the type " + std::to_string(type) +
                         ", which is no cprt_dtype");
  if (tensor.rank < 1 || tensor.rank > CPRT_BATCH_MAX_RANK)
    return refuse(2, "'" + name + "' has " + std::to_string(tensor.rank) +
                         " dimensions, expected 1 to " +
                         std::to_string(CPRT_BATCH_MAX_RANK));
  // Also where there are none, the other sizes are counted to.
  bool isEmpty = false;
  int64_t elements = 1;
  for (int i = 0; i < tensor.rank; ++i) {
    int64_t size = tensor.shape[i];
    isEmpty |= size == 0;
    if (size < 0 || (size > 0 && elements > mostElements / size))
      return refuse(2, describe(name, tensor) +
                           " has a size below 0, or more than 2^40 elements");
    elements *= size ? size : 1;
  }
  if (needsData && !isEmpty && !tensor.data)
    return refuse(2, describe(name, tensor) + " has null in place of data");
  return std::nullopt;
}

static const KnownField *findKnown(const std::string &name) {
  for (const KnownField &known : knownFields)
    if (name == known.name)
      return &known;
  return nullptr;
}

bool cp::batch::isKnown(const std::string &name) { return findKnown(name); }

static Error readKnown(const KnownField &known, Field &field) {
  const cprt_batch_tensor &tensor = *field.tensor;
  field.sequenceDim = tensor.rank == 3 && known.most == 3 && known.least == 2
                          ? 2
                          : known.sequenceDim;
  if (tensor.rank < known.least || tensor.rank > known.most)
    return refuse(2,
                  describe(field.name, tensor) + ", expected " + known.shape);
  if (known.integral && !isIntegral(tensor.dtype))
    return refuse(2, describe(field.name, tensor) + " is of the type " +
                         typeName(tensor.dtype) +
                         ", expected whole numbers: i32 or i64");
  return std::nullopt;
}

static Error readOne(const cprt_batch_tensor &tensor, Fields &fields) {
  if (!tensor.name || !*tensor.name)
    return refuse(2, "tensor " + std::to_string(fields.list.size()) +
                         " has no name");
  Field field = {tensor.name, &tensor, -1};
  if (fields.find(field.name))
    return refuse(2, "two tensors are named '" + field.name + "'");
  for (const char *made : madeNames)
    if (field.name == made)
      return refuse(2, "'" + field.name +
                           "' is made by the batch; give seq_lens, the tokens "
                           "of each document of a row");
  if (Error failure = checkTensor(tensor, field.name, /*needsData=*/true))
    return failure;
  if (const KnownField *known = findKnown(field.name)) {
    if (Error failure = readKnown(*known, field))
      return failure;
  } else {
    field.sequenceDim = tensor.sequence_dim;
    if (field.sequenceDim < 0 || field.sequenceDim >= tensor.rank)
      return refuse(2, describe(field.name, tensor) + " has no dimension " +
                           std::to_string(field.sequenceDim) +
                           ", its sequence_dim");
  }
  fields.list.push_back(std::move(field));
  return std::nullopt;
}

/// The dimension of rows of a tensor that is known by its name; -1 for another.
static int rowsDimOf(const Field &field) {
  if (!findKnown(field.name))
    return -1;
  return field.sequenceDim < 0 ? 0 : field.sequenceDim - 1;
}

static bool isShared(const Field &field) {
  return field.name == "position_ids" && field.sequenceDim == 1 &&
         field.tensor->shape[0] == 1;
}

/// Rows and tokens are those of the first tensor that says them.
static Error agree(Fields &fields) {
  const Field *rowsFrom = nullptr, *lengthFrom = nullptr, *other = nullptr;
  for (const Field &field : fields.list) {
    const cprt_batch_tensor &tensor = *field.tensor;
    int dim = rowsDimOf(field);
    if (dim >= 0 && !isShared(field)) {
      if (!rowsFrom) {
        rowsFrom = &field;
        fields.rows = tensor.shape[dim];
      } else if (tensor.shape[dim] != fields.rows)
        return refuse(3, describe(field.name, tensor) + " and " +
                             describe(rowsFrom->name, *rowsFrom->tensor) +
                             " have not the same rows; give tensors of one "
                             "batch");
    }
    if (field.sequenceDim < 0)
      continue;
    if (!other && field.sequenceDim > 0 && !findKnown(field.name))
      other = &field;
    if (!lengthFrom) {
      lengthFrom = &field;
      fields.length = tensor.shape[field.sequenceDim];
    } else if (tensor.shape[field.sequenceDim] != fields.length)
      return refuse(3, describe(field.name, tensor) + " and " +
                           describe(lengthFrom->name, *lengthFrom->tensor) +
                           " have not the same tokens; give tensors of one "
                           "batch");
  }
  // Tensors of other names say it where there are none but them.
  if (!rowsFrom && other)
    fields.rows = other->tensor->shape[other->sequenceDim - 1];
  if (fields.rows < 1 || fields.length < 1)
    return refuse(3, "there are no tokens: " + std::to_string(fields.rows) +
                         " rows of " + std::to_string(fields.length) +
                         "; give input_ids, inputs_embeds or a tensor with a "
                         "sequence_dim");
  if (fields.rows > INT32_MAX / fields.length)
    return refuse(3, std::to_string(fields.rows) + " rows of " +
                         std::to_string(fields.length) +
                         " tokens are more than 2^31 - 1 in all");
  return std::nullopt;
}

Error cp::batch::readFields(const cprt_batch_tensor *tensors, size_t count,
                            Fields &fields) {
  if (count && !tensors)
    return refuse(2, "the tensors are null");
  for (size_t i = 0; i < count; ++i)
    if (Error failure = readOne(tensors[i], fields))
      return failure;
  return agree(fields);
}
