//===- Gated.td - A gated linear recurrence ----------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "cp/Adjoint/AdjointInterface.td"
include "cp/IR/CPInterfaces.td"
include "cp/Trace/TraceInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Gated_Dialect : Dialect {
  let name = "gated";
  let cppNamespace = "::gated";
}

defvar CallsTheRuntime = DeclareOpInterfaceMethods<
    RuntimeOpInterface, ["getRuntimeSymbol", "getRuntimeCall"]>;
/// --trace-tokens and its kin follow the op.
defvar IsTraced = DeclareOpInterfaceMethods<TraceOpInterface>;

def Gated_RecurrenceOp : Op<Gated_Dialect, "recurrence", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<ScanOpInterface, [
      "getScanAlgorithm", "setScanAlgorithm", "isReverse"]>,
    DeclareOpInterfaceMethods<AdjointOpInterface>, CallsTheRuntime]> {
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

def Gated_DeltaOp : Op<Gated_Dialect, "delta", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<ScanOpInterface, [
      "getCombine", "advance", "getInitialState", "getFinalState",
      "getScanAlgorithm", "setScanAlgorithm", "isReverse"]>,
    IsTraced, CallsTheRuntime]> {
  let summary = "The gated delta rule: a state that a matrix carries on";
  let description = [{
    For each batch and head, S_t = g_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t
    v_t^T and o_t = S_t^T q_t (Yang et al., Gated Delta Networks, 2024). In reverse
    S_{t+1} is what comes before.
  }];
  let arguments = (ins TensorRankOf<[F64], [4]>:$q, TensorRankOf<[F64], [4]>:$k,
                       TensorRankOf<[F64], [4]>:$v,
                       TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$beta,
                       Optional<TensorRankOf<[F64], [4]>>:$initial,
                       UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [4]>:$o,
                      TensorRankOf<[F64], [4]>:$final);
  let assemblyFormat = [{
    `q` `(` $q `)` `k` `(` $k `)` `v` `(` $v `)` `gate` `(` $gate `)`
    `beta` `(` $beta `)` (`initial` `(` $initial^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Gated_DeltaSummaryOp
    : Op<Gated_Dialect, "delta_summary", [Pure, IsTraced, CallsTheRuntime]> {
  let summary = "The product of the matrices, and the last S from zero";
  let arguments = (ins TensorRankOf<[F64], [4]>:$k, TensorRankOf<[F64], [4]>:$v,
                       TensorRankOf<[F64], [3]>:$gate,
                       TensorRankOf<[F64], [3]>:$beta, UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [4]>:$matrix,
                      TensorRankOf<[F64], [4]>:$state);
  let assemblyFormat = [{
    $k `,` $v `,` $gate `,` $beta attr-dict
    `:` functional-type(operands, results)
  }];
}

def Gated_AdvanceOp : Op<Gated_Dialect, "advance", [
    Pure, IsTraced, DeclareOpInterfaceMethods<RuntimeOpInterface, ["getRuntimeSymbol"]>]> {
  let summary = "matrix * before + state";
  let arguments = (ins TensorRankOf<[F64], [4]>:$matrix,
                       TensorRankOf<[F64], [4]>:$state,
                       TensorRankOf<[F64], [4]>:$before);
  let results = (outs TensorRankOf<[F64], [4]>:$after);
  let assemblyFormat = [{
    $matrix `,` $state `,` $before attr-dict
    `:` functional-type(operands, results)
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

def Gated_ShiftOp : Op<Gated_Dialect, "shift", [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<WindowOpInterface, [
      "isReverse", "getInitialRows"]>,
    CallsTheRuntime]> {
  let summary = "y_t = x_{t-1}";
  let description = "In reverse, x_{t+1}. A row that is not there is zero.";
  let arguments = (ins TensorRankOf<[F64], [3]>:$x,
                       Optional<TensorRankOf<[F64], [3]>>:$initial,
                       UnitAttr:$reverse);
  let results = (outs TensorRankOf<[F64], [3]>:$y);
  let assemblyFormat = [{
    $x (`initial` `(` $initial^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}
