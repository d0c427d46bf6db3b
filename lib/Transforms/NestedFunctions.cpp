//===- NestedFunctions.cpp - Functions that no pass sees --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestedFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

LogicalResult cp::expectFunctions(ModuleOp module, StringRef label) {
  if (!module.getOps<FunctionOpInterface>().empty())
    return success();
  WalkResult found = module.walk([&](func::FuncOp nested) {
    nested.emitOpError(label)
        << "is in a module within the one that was given, which has no "
           "function of its own; run the passes on that one, as "
           "\"builtin.module(builtin.module(...))\" does";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
