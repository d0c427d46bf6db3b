//===- Gated.td - A gated linear recurrence ----------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "cp/IR/CPInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Gated_Dialect : Dialect {
  let name = "gated";
  let cppNamespace = "::gated";
}

def Gated_RecurrenceOp : Op<Gated_Dialect, "recurrence", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getSequenceKind", "summarize", "apply", "getScanAlgorithm",
      "setScanAlgorithm"]>,
    DeclareOpInterfaceMethods<RuntimeOpInterface, ["getRuntimeSymbol"]>]> {
  let summary = "h_t = gate_t h_{t-1} + x_t, for each channel";
  let arguments = (ins TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$x,
                       Optional<TensorRankOf<[F64], [2]>>:$initial);
  let results = (outs TensorRankOf<[F64], [3]>:$h);
  let assemblyFormat = [{
    $gate `,` $x (`initial` `(` $initial^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Gated_SummaryOp : Op<Gated_Dialect, "summary", [
    Pure,
    DeclareOpInterfaceMethods<RuntimeOpInterface, ["getRuntimeSymbol"]>]> {
  let summary = "The product of the gates, and the last h from zero";
  let arguments = (ins TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$x);
  let results = (outs TensorRankOf<[F64], [2]>:$decay,
                      TensorRankOf<[F64], [2]>:$state);
  let assemblyFormat = [{
    $gate `,` $x attr-dict `:` functional-type(operands, results)
  }];
}
