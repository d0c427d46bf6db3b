//===- UnknownDivisor.h - Ops that rows of padding could end ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_UNKNOWNDIVISOR_H
#define CP_LIB_TRANSFORMS_UNKNOWNDIVISOR_H

#include "mlir/IR/Operation.h"

namespace cp {

/// Whether an op, or one within it, divides integers by what is no constant
/// other than 0: of rows that are none the divisor may be 0, at which a
/// processor stops.
bool hasUnknownDivisor(mlir::Operation *op);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_UNKNOWNDIVISOR_H
