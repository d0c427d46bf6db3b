//===- DType.cpp - Element types of stored tensors ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/DType.h"

#include "Checked.h"

#include "llvm/ADT/StringExtras.h"

using namespace cp;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
struct Row {
  DType dtype;
  const char *name;
  int64_t bytes;
};
} // namespace

/// In the order of the enumeration, so that a type is its own row number.
static constexpr Row table[] = {
    {DType::Bool, "BOOL", 1}, {DType::U8, "U8", 1},   {DType::I8, "I8", 1},
    {DType::U16, "U16", 2},   {DType::I16, "I16", 2}, {DType::F16, "F16", 2},
    {DType::BF16, "BF16", 2}, {DType::U32, "U32", 4}, {DType::I32, "I32", 4},
    {DType::F32, "F32", 4},   {DType::U64, "U64", 8}, {DType::I64, "I64", 8},
    {DType::F64, "F64", 8},
};

StringRef cp::dtypeName(DType dtype) {
  return table[static_cast<int>(dtype)].name;
}

int64_t cp::dtypeBytes(DType dtype) {
  return table[static_cast<int>(dtype)].bytes;
}

std::optional<DType> cp::parseDType(StringRef name) {
  for (const Row &row : table)
    if (name == row.name)
      return row.dtype;
  return std::nullopt;
}

std::optional<int64_t> cp::tensorBytes(ArrayRef<int64_t> shape, DType dtype) {
  for (int64_t size : shape)
    if (size < 0)
      return std::nullopt;
  // A zero first: [2^40, 2^40, 0] has no elements and so overflows nothing.
  if (llvm::is_contained(shape, 0))
    return 0;
  Checked product = dtypeBytes(dtype);
  for (int64_t size : shape)
    product = product * size;
  return product.get();
}

std::string cp::shapeText(ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(llvm::map_range(
                        shape, [](int64_t size) { return llvm::itostr(size); }),
                    ", ") +
         "]";
}
