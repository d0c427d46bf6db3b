//===- DocumentPlaces.h - Places of tokens in documents ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_DOCUMENTPLACES_H
#define CP_LIB_TRANSFORMS_DOCUMENTPLACES_H

#include "cp/IR/CPDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {

/// The place `[b, l]` of each token of u `[b, l, d]` in its document. Each
/// layer makes its own; CSE makes one of them.
inline mlir::Value createPlaces(mlir::ImplicitLocOpBuilder &builder,
                                mlir::Value u, mlir::Value documents) {
  auto type = llvm::cast<mlir::RankedTensorType>(u.getType());
  return PositionsOp::create(
      builder,
      mlir::RankedTensorType::get(type.getShape().take_front(2),
                                  builder.getI64Type()),
      documents);
}

} // namespace cp

#endif // CP_LIB_TRANSFORMS_DOCUMENTPLACES_H
