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

defvar CallsTheRuntime = DeclareOpInterfaceMethods<
    RuntimeOpInterface, ["getRuntimeSymbol", "getRuntimeAttributes"]>;

def Gated_RecurrenceOp : Op<Gated_Dialect, "recurrence", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<ScanOpInterface, [
      "getScanAlgorithm", "setScanAlgorithm", "isReverse"]>,
    CallsTheRuntime]> {
  let summary = "h_t = gate_t h_{t-1} + x_t, for each channel";
  let description = "In reverse, h_t = gate_t h_{t+1} + x_t.";
  let arguments = (ins TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$x,
                       Optional<TensorRankOf<[F64], [2]>>:$initial,
                       UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [3]>:$h);
  let assemblyFormat = [{
    $gate `,` $x (`initial` `(` $initial^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Gated_SummaryOp : Op<Gated_Dialect, "summary", [Pure, CallsTheRuntime]> {
  let summary = "The product of the gates, and the last h from zero";
  let arguments = (ins TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$x, UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [2]>:$decay,
                      TensorRankOf<[F64], [2]>:$state);
  let assemblyFormat = [{
    $gate `,` $x attr-dict `:` functional-type(operands, results)
  }];
}

def Gated_WindowOp : Op<Gated_Dialect, "window", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<WindowOpInterface, [
      "isReverse", "getInitialRows"]>,
    CallsTheRuntime]> {
  let summary = "y_t = sum_k (k + 1) x_{t-k} for k from 0 to rows";
  let description = "In reverse, x_{t+k}. Rows that are not there are zero.";
  let arguments = (ins TensorRankOf<[F64], [3]>:$x,
                       Optional<TensorRankOf<[F64], [3]>>:$initial,
                       I64Attr:$rows, UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [3]>:$y);
  let assemblyFormat = [{
    $x (`initial` `(` $initial^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}
