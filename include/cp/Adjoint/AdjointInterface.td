//===- AdjointInterface.td - What gradients pass through --*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_ADJOINT_ADJOINTINTERFACE_TD
#define CP_ADJOINT_ADJOINTINTERFACE_TD

include "mlir/IR/OpBase.td"

def AdjointOpInterface : OpInterface<"AdjointOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    The adjoint of an op's derivative (its vector-Jacobian product), which
    `cp-differentiate` puts behind the forward pass. Attached from outside to
    upstream ops; an op of another dialect has its own.

    An op without it may not lie between what is differentiated and the loss.
  }];
  let methods = [
    InterfaceMethod<[{
      From the cotangents of the results (`AdjointContext::cotangent`) those of the
      operands for which `AdjointContext::isWanted` asks: given by
      `AdjointContext::add`, once or more for each, or not at all where they are
      zero. What it reads of the forward pass, operands or results, is kept until
      then. Fails, after an error on the op, where it has no derivative.
    }], "::llvm::LogicalResult", "buildAdjoint",
        (ins "::cp::AdjointContext &":$context)>,
  ];
}

#endif // CP_ADJOINT_ADJOINTINTERFACE_TD
