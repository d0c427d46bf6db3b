//===- ControlFlow.h - What a list of calls cannot have ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_CONTROLFLOW_H
#define CP_LIB_TRANSFORMS_CONTROLFLOW_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Refuses loops and branches of a function: a rank's program is a list of
/// calls. `label` is that of the pass's constraint. An error names the first.
mlir::LogicalResult refuseControlFlow(mlir::FunctionOpInterface function,
                                      llvm::StringRef label);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_CONTROLFLOW_H
