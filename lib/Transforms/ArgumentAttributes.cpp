//===- ArgumentAttributes.cpp - Arguments by their names ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"

#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

StringAttr nameOf(FunctionOpInterface function, unsigned argument) {
  for (StringRef attr : {paramAttr, nameAttr})
    if (auto name = function.getArgAttrOfType<StringAttr>(argument, attr))
      return name;
  return StringAttr::get(function.getContext(),
                         "arg" + std::to_string(argument));
}

ArgumentNames::ArgumentNames(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments())
    arguments.try_emplace(nameOf(function, argument.getArgNumber()), argument);
}

bool gathersParameters(Operation *op) {
  return isa<AllGatherOp>(op) &&
         llvm::all_of(op->getOperands(), [](Value value) {
           auto argument = dyn_cast<BlockArgument>(value);
           auto function = argument ? dyn_cast<FunctionOpInterface>(
                                          argument.getOwner()->getParentOp())
                                    : FunctionOpInterface();
           return function &&
                  function.getArgAttr(argument.getArgNumber(), paramAttr);
         });
}

} // namespace cp
