//===- DType.h - Element types of stored tensors ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_DTYPE_H
#define CP_FILES_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cp {

/// The element types of the safetensors format that fill whole bytes, under the
/// names that format gives them.
enum class DType {
  Bool,
  U8,
  I8,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64
};

/// The name in a safetensors header, such as "BF16".
llvm::StringRef dtypeName(DType dtype);

/// The size of one element in bytes.
int64_t dtypeBytes(DType dtype);

/// The type that dtypeName() names so, or nothing.
std::optional<DType> parseDType(llvm::StringRef name);

/// The bytes of a tensor of that shape; 0 when a size is 0. Nothing when a size
/// is negative or the product leaves int64_t.
std::optional<int64_t> tensorBytes(llvm::ArrayRef<int64_t> shape, DType dtype);

/// A shape as "[2, 3]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace cp

#endif // CP_FILES_DTYPE_H
