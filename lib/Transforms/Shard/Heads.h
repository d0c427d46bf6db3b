//===- Heads.h - Channels as heads ------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_HEADS_H
#define CP_LIB_TRANSFORMS_HEADS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {

/// x `[b, l, major*minor]` as `[b, l, major, minor]`.
mlir::Value splitHeads(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                       int64_t major, int64_t minor);

/// x `[b, l, h, p]` as `[b, l, h*p]`.
mlir::Value mergeHeads(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_HEADS_H
