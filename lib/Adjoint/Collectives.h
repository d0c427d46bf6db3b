//===- Collectives.h - What adjoints of exchanges share ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_ADJOINT_COLLECTIVES_H
#define CP_LIB_ADJOINT_COLLECTIVES_H

#include "cp/Adjoint/Adjoint.h"
#include "cp/IR/CPDialect.h"

namespace cp {

/// Adjoints of what goes along a sequence.
llvm::LogicalResult adjointOfHalo(AdjointContext &context, HaloOp op);
llvm::LogicalResult adjointOfScanState(AdjointContext &context, ScanStateOp op);

} // namespace cp

#endif // CP_LIB_ADJOINT_COLLECTIVES_H
