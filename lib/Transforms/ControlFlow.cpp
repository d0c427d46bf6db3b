//===- ControlFlow.cpp - What a list of calls cannot have -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

LogicalResult cp::refuseControlFlow(FunctionOpInterface function,
                                    StringRef label) {
  for (Operation &op : function.getFunctionBody().getOps()) {
    bool isLoop = isa<LoopLikeOpInterface>(op);
    if (!isLoop && !isa<RegionBranchOpInterface>(op))
      continue;
    return op.emitOpError()
           << label << ": a rank's program is a list of calls without "
           << "branches and loops, but this is "
           << (isLoop ? "a loop; unroll it, or give the program what one step "
                        "computes"
                      : "a branch; choose by arith.select, or before the "
                        "program is made");
  }
  return success();
}
