//===- TraceInterface.td - How ids pass through an op ------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRACE_TRACEINTERFACE_TD
#define CP_TRACE_TRACEINTERFACE_TD

include "mlir/IR/OpBase.td"

def TraceOpInterface : OpInterface<"TraceOpInterface"> {
  let cppNamespace = "::cp";
  let description = [{
    What an op of one rank's program does to ids of elements in place of numbers,
    for `traceTokens`. Asked of ops on tensors of known sizes with elements, whose
    operands' ids are known or constants', that have no regions or a sharding rule.

    An op needs it when it works along a sequence, as a half of a scan does, or
    changes shapes. Any other is followed without it: by the runtime, which moves
    ids as it moves numbers, or by its sharding rule, which says what must meet.
    Attached from outside to upstream ops.
  }];
  let methods = [
    InterfaceMethod<[{
      Gives each result its ids (`OpTrace::result`), and reports on each rank what
      its operands hold that they should not; `Rows.h` and `Runs.h` have the
      checks. An op that cannot say what becomes of ids gives up
      (`OpTrace::giveUp`): a finding is no error. Fails when a collective does.
    }], "::llvm::Error", "trace", (ins "::cp::OpTrace &":$trace)>,
  ];
}

#endif // CP_TRACE_TRACEINTERFACE_TD
