//===- BufferSize.h - How many bytes a buffer takes -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_BUFFERSIZE_H
#define CP_LIB_TRANSFORMS_BUFFERSIZE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace cp {

/// The bytes of a buffer without gaps. Nothing for one that no allocation can
/// make: of sizes that are not known, of elements that are not numbers, or of
/// more than 2^48 bytes, beyond which sums of sizes could overflow.
inline std::optional<int64_t> bytesOf(mlir::MemRefType type) {
  constexpr int64_t most = int64_t(1) << 48;
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > most)
      return std::nullopt;
  return bytes;
}

} // namespace cp

#endif // CP_LIB_TRANSFORMS_BUFFERSIZE_H
