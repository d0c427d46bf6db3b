//===- NextTokens.h - Labels of the tokens themselves ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_NEXTTOKENS_H
#define CP_LIB_TRANSFORMS_NEXTTOKENS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {

/// The token that comes next, `ignored` for the last one, of ids `[b, l]`. With
/// `documents` (cu_seqlens, `[b, n + 1]`; null for none) the last one of each
/// document has none.
mlir::Value buildNextTokens(mlir::ImplicitLocOpBuilder &builder,
                            mlir::Value ids, mlir::Value documents,
                            int64_t ignored);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_NEXTTOKENS_H
