//===- BufferArguments.h - Buffers that come as pointers --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_BUFFERARGUMENTS_H
#define CP_LIB_TRANSFORMS_BUFFERARGUMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cp {

/// A buffer of known sizes and strides that begins at `pointer`.
mlir::Value bufferAt(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value pointer, mlir::MemRefType type);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_BUFFERARGUMENTS_H
