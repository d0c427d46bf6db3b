//===- CPLocalOps.td - Ops of one rank's program -----------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPLOCALOPS_TD
#define CP_IR_CPLOCALOPS_TD

include "cp/IR/CPBase.td"

def CP_SsdStatesOp : CP_Op<"ssd_states", [
    Pure, AttrSizedOperandSegments, IsRuntimeOp,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "First half of a scan whose incoming state is not known yet";
  let description = [{
    Operands as of `cp.ssd`. Gives the summary of these tokens (`decay` `[b, h]`
    and `state` `[b, h, p, n]`, the final state from zero) and what `cp.ssd_scan`
    needs again: the final state of each chunk from zero `[b, chunks, h, p, n]`
    and delta `[b, l, h]`. So the state work is done once.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - ssd_states_c1: dt is `[b, l, h]`, A_log and dt_bias are `[h]`, B is
      `[b, l, g, n]` and g divides h;
    - ssd_states_c2: the results have the shapes above, with
      chunks = ceil(l / chunk_size), chunk_size is at least 1, and dt_min is at
      most dt_max;
    - ssd_states_c3: places are `[b, l]`.

    ```mlir
    func.func @half(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
        %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) -> tensor<1x2xf32>
        attributes {cp.view = "local"} {
      %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
          B(%b) {chunk_size = 8}
          : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
             tensor<1x16x1x4xf32>)
          -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
              tensor<1x16x2xf32>)
      return %decay : tensor<1x2xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$x,
                       CP_FloatTensorOfRank<3>:$dt,
                       CP_FloatTensorOfRank<1>:$A_log,
                       CP_FloatTensorOfRank<4>:$B,
                       Optional<CP_FloatTensorOfRank<1>>:$dt_bias,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<I64Attr, "64">:$chunk_size,
                       DefaultValuedAttr<F64Attr, "0.0">:$dt_min,
                       DefaultValuedAttr<F64Attr, "::std::numeric_limits<double>::infinity()">:$dt_max);
  let results = (outs CP_FloatTensorOfRank<2>:$decay,
                      CP_FloatTensorOfRank<4>:$state,
                      CP_FloatTensorOfRank<5>:$chunk_states,
                      CP_FloatTensorOfRank<3>:$delta);
  let assemblyFormat = [{
    $x `dt` `(` $dt `)` `A_log` `(` $A_log `)` `B` `(` $B `)`
    (`dt_bias` `(` $dt_bias^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_SsdScanOp : CP_Op<"ssd_scan", [
    Pure, AttrSizedOperandSegments, IsRuntimeOp,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Second half of a scan, with the incoming state";
  let description = [{
    x, A_log, B, C, D and places as of `cp.ssd`; what `cp.ssd_states` kept; the
    summary of all earlier tokens. The incoming state is
    `prefix_decay * initial + prefix_state`, without the former where the decay
    is -0, that of a start.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - ssd_scan_c1: y has x's type, A_log is `[h]`, B and C have one type
      `[b, l, g, n]`, g divides h, D is `[h]` or `[h, p]`;
    - ssd_scan_c2: the kept values have the shapes that `cp.ssd_states` gives
      them, the prefix and the initial state those of a summary;
    - ssd_scan_c3: places are `[b, l]`.

    ```mlir
    func.func @half(%x: tensor<1x16x2x8xf32>, %a: tensor<2xf32>,
        %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
        %chunks: tensor<1x2x2x8x4xf32>, %delta: tensor<1x16x2xf32>,
        %pd: tensor<1x2xf32>, %ps: tensor<1x2x8x4xf32>) -> tensor<1x16x2x8xf32>
        attributes {cp.view = "local"} {
      %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
          prefix(%pd, %ps) {chunk_size = 8}
          : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
             tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
             tensor<1x2xf32>, tensor<1x2x8x4xf32>)
          -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
      return %y : tensor<1x16x2x8xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$x,
                       CP_FloatTensorOfRank<1>:$A_log,
                       CP_FloatTensorOfRank<4>:$B,
                       CP_FloatTensorOfRank<4>:$C,
                       Optional<CP_FloatTensor>:$D,
                       CP_FloatTensorOfRank<5>:$chunk_states,
                       CP_FloatTensorOfRank<3>:$delta,
                       CP_FloatTensorOfRank<2>:$prefix_decay,
                       CP_FloatTensorOfRank<4>:$prefix_state,
                       Optional<CP_FloatTensorOfRank<4>>:$initial,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<I64Attr, "64">:$chunk_size);
  let results = (outs CP_FloatTensorOfRank<4>:$y,
                      CP_FloatTensorOfRank<4>:$final_state);
  let assemblyFormat = [{
    $x `A_log` `(` $A_log `)` `B` `(` $B `)` `C` `(` $C `)` (`D` `(` $D^ `)`)?
    `kept` `(` $chunk_states `,` $delta `)`
    `prefix` `(` $prefix_decay `,` $prefix_state `)`
    (`initial` `(` $initial^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_CallOp : CP_Op<"call", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A call into the runtime, on tensors or on buffers";
  let description = [{
    The form of every runtime op from `convert-cp-to-calls` to
    `convert-cp-to-runtime`: `cprt_<symbol>` reads `ins` and writes `outs`; with
    `accumulate` it reads `outs` too. On tensors it gives one result per out, tied
    to it; on memrefs none. What stands in braces (`#cp.config`) are the words of
    its attributes, in the order of the runtime's table. `none` stands for an
    optional input that is left out before others. `with "f"` hands the function
    `cprt_f` to `cprt_<symbol>_with`. `elementwise` says that an element of an out goes
    by the same elements of ins, so that outs may be buffers of ins. `deferred` says
    that the call may go on while others are made, until a `cp.wait` of its outs:
    nothing touches its buffers meanwhile, but to read its ins.

    Lifetime: made by `convert-cp-to-calls`, removed by `convert-cp-to-runtime`.

    Constraints:
    - call_c1: all ins and outs are ranked tensors, or all are ranked memrefs, and
      there are outs;
    - call_c2: on tensors the results have the types of outs, on memrefs there
      are none;
    - call_c3: attributes are bools, integers of at most 64 bits without a sign,
      floats or arrays of i64;
    - call_c4: neither symbol ends in `_with`, and the function's is not empty;
    - call_c5: places of inputs that are left out are among those of all inputs,
      each once and in their order;
    - call_c6: what is deferred is on memrefs, and has no function `with` it.

    ```mlir
    func.func @calls(%x: memref<4x8xf32>, %w: memref<16x8xf32>,
                     %y: memref<4x16xf32>) {
      cp.call "matmul" ins(%x, %w : memref<4x8xf32>, memref<16x8xf32>)
          outs(%y : memref<4x16xf32>) {accumulate = false, transpose_b = true}
      return
    }
    func.func @without_bias(%x: memref<1x8x4xf32>, %w: memref<4x3xf32>,
                            %before: memref<1x2x4xf32>, %y: memref<1x8x4xf32>) {
      cp.call "conv1d" ins(%x, %w, none, %before : memref<1x8x4xf32>,
          memref<4x3xf32>, memref<1x2x4xf32>) outs(%y : memref<1x8x4xf32>)
          {silu = true}
      return
    }
    func.func @in_place(%w: memref<8xf32>, %g: memref<8xf32>, %rate: memref<f64>,
                        %scale: memref<f64>) {
      cp.call "sgd" elementwise ins(%w, %g, %rate, %scale : memref<8xf32>,
          memref<8xf32>, memref<f64>, memref<f64>) outs(%w : memref<8xf32>)
          {weight_decay = 0.0}
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$symbol, CP_ConfigAttr:$config,
                       Variadic<AnyType>:$ins, Variadic<AnyType>:$outs,
                       OptionalAttr<DenseI64ArrayAttr>:$absent,
                       OptionalAttr<StrAttr>:$callback, UnitAttr:$elementwise,
                       UnitAttr:$deferred);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $symbol (`with` $callback^)? (`elementwise` $elementwise^)? (`deferred` $deferred^)? `` custom<Inputs>($ins, type($ins), $absent)
    `outs` `(` $outs `:` type($outs) `)` custom<Config>($config) attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// Whether the call adds to what outs hold.
    bool accumulates();
  }];
  let hasVerifier = 1;
}

def CP_WaitOp : CP_Op<"wait", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The end of a deferred call";
  let description = [{
    Waits until the deferred calls that write `outs` have ended. It has their `ins`
    too, which live until then.

    Lifetime: made by `cp-overlap-exchanges`, removed by `convert-cp-to-runtime`.

    Constraints:
    - wait_c1: there are outs.

    ```mlir
    func.func @sum_meanwhile(%dw: memref<4x8xf32>, %sum: memref<4x8xf32>,
                             %x: memref<16x8xf32>, %y: memref<16x8xf32>) {
      cp.call "all_reduce" deferred ins(%dw : memref<4x8xf32>)
          outs(%sum : memref<4x8xf32>) {axes = array<i64: 0>}
      cp.call "copy" ins(%x : memref<16x8xf32>) outs(%y : memref<16x8xf32>) {}
      cp.wait ins(%dw : memref<4x8xf32>) outs(%sum : memref<4x8xf32>)
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$ins, Variadic<AnyMemRef>:$outs);
  let assemblyFormat = [{
    (`ins` `(` $ins^ `:` type($ins) `)`)? `outs` `(` $outs `:` type($outs) `)`
    attr-dict
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPLOCALOPS_TD
