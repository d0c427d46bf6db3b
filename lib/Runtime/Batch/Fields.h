//===- Fields.h - The tensors that a batch is made of -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_BATCH_FIELDS_H
#define CP_LIB_RUNTIME_BATCH_FIELDS_H

#include "Options.h"

#include <string_view>
#include <vector>

namespace cp::batch {

/// One of the caller's tensors, checked by itself.
struct Field {
  std::string name;
  const cprt_batch_tensor *tensor;
  /// The dimension of tokens; -1 where there is none.
  int sequenceDim;
};

/// The rows of a batch before anything is done to them.
struct Fields {
  std::vector<Field> list;
  int64_t rows = 1, length = 0;

  /// Null when there is none.
  const Field *find(std::string_view name) const;
};

/// Errors batch_c2 and batch_c3.
Error readFields(const cprt_batch_tensor *tensors, size_t count,
                 Fields &fields);

/// How many elements a tensor may have, padded or not.
inline constexpr int64_t mostElements = int64_t(1) << 40;

/// Errors batch_c2: more elements than that, no data where there is to be some.
Error checkTensor(const cprt_batch_tensor &tensor, const std::string &name,
                  bool needsData);

/// An element of a tensor of i32 or i64.
int64_t intAt(const cprt_batch_tensor &tensor, int64_t index);
/// Writes it in the type, of which the number must be one.
void setInt(cprt_dtype dtype, char *element, int64_t value);

/// "position_ids of [3, 4]"
std::string describe(const std::string &name, const cprt_batch_tensor &tensor);

bool isIntegral(cprt_dtype dtype);
/// Whether the name says what a tensor is.
bool isKnown(const std::string &name);

} // namespace cp::batch

#endif // CP_LIB_RUNTIME_BATCH_FIELDS_H
