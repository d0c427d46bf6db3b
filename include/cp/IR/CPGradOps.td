//===- CPGradOps.td - Adjoints of ops, fused ---------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPGRADOPS_TD
#define CP_IR_CPGRADOPS_TD

include "cp/IR/CPBase.td"

// Each takes what its op took, and the cotangents of its results. Gradients of
// weights are sums over tokens, in f32 or better.

/// On a cut sequence cotangents go the way back that rows and states came, by
/// `place`.
defvar IsPlacedGrad = [
    DeclareOpInterfaceMethods<SequenceOpInterface, ["canRunOn"]>,
    DeclareOpInterfaceMethods<PlacedOpInterface>];

def CP_StopGradientOp : CP_Op<"stop_gradient", [
    Pure, HasShardingRule, AllTypesMatch<["source", "result"]>]> {
  let summary = "A value that counts as a constant in derivatives";
  let description = [{
    The identity, through which `cp-differentiate` sends no cotangent.

    Lifetime: goes when a program is differentiated, or lowered without that.

    ```mlir
    func.func @target(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> {
      %0 = cp.stop_gradient %x : tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

def CP_Conv1dGradOp : CP_Op<"conv1d_grad", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp
    ] # IsPlacedGrad> {
  let summary = "The adjoint of cp.conv1d";
  let description = [{
    From the cotangent dy of its result, `[b, l, c]`, those of x, of the weight and
    the bias, and of the initial rows. With s[t] the sum before `silu` and
    ds = dy silu'(s), or dy without `silu`:

        dx[t] = sum_k weight[k] ds[t + (w-1) - k]
        dweight[k] = sum_{b,t} ds[t] x[t - (w-1) + k]    dbias = sum_{b,t} ds[t]

    Rows of x before the first are the initial ones. With `places` nothing goes
    back over a border.

    Constraints:
    - conv1d_grad_c1: dy and dx have x's type;
    - conv1d_grad_c2: weight is `[c, w]` with w at least 1, bias is `[c]`;
    - conv1d_grad_c3: initial rows and their cotangent are `[b, w-1, c]`, places
      are `[b, l]`;
    - conv1d_grad_c4: operands but places have one element type, as has the
      cotangent of the initial rows; dweight `[c, w]` and dbias `[c]` are in f32 or
      better.

    ```mlir
    func.func @conv(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                    %dy: tensor<1x16x24xf32>) -> tensor<24x4xf32> {
      %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) from %dy {silu = true}
          : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x16x24xf32>)
          -> (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>,
              tensor<1x3x24xf32>)
      return %dw : tensor<24x4xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<3>:$x,
                       CP_FloatTensorOfRank<2>:$weight,
                       CP_FloatTensorOfRank<3>:$dy,
                       Optional<CP_FloatTensorOfRank<1>>:$bias,
                       Optional<CP_FloatTensorOfRank<3>>:$initial,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<BoolAttr, "false">:$silu);
  let results = (outs CP_FloatTensorOfRank<3>:$dx,
                      CP_FloatTensorOfRank<2>:$dweight,
                      CP_FloatTensorOfRank<1>:$dbias,
                      CP_FloatTensorOfRank<3>:$dinitial);
  let assemblyFormat = [{
    $x `weight` `(` $weight `)` (`bias` `(` $bias^ `)`)?
    (`initial` `(` $initial^ `)`)? (`places` `(` $places^ `)`)? `from` $dy
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_RmsNormGradOp : CP_Op<"rms_norm_grad", [
    Pure, AttrSizedOperandSegments, IsRuntimeOp,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["localizeSizes"]>]> {
  let summary = "The adjoint of cp.rms_norm";
  let description = [{
    From the cotangent dy of its result those of x, of the weight (as of ones,
    where there is none) and, with a gate, of the gate. With n values v of a group,
    r = 1/sqrt(mean(v^2) + eps) and dv' the cotangent of v r:

        dv = r (dv' - v r mean(dv' v r))

    Constraints:
    - rms_norm_grad_c1: dy, the gate, dx and dgate have x's type, and there is a
      dgate where there is a gate;
    - rms_norm_grad_c2: weight is `[c]` of x's element type, dweight is `[c]` in
      f32 or better;
    - rms_norm_grad_c3: groups is at least 1 and divides c.

    ```mlir
    func.func @norm(%x: tensor<1x16x24xf32>, %w: tensor<24xf32>,
                    %dy: tensor<1x16x24xf32>) -> tensor<24xf32> {
      %dx, %dw = cp.rms_norm_grad %x weight(%w) from %dy
          : (tensor<1x16x24xf32>, tensor<1x16x24xf32>, tensor<24xf32>)
          -> (tensor<1x16x24xf32>, tensor<24xf32>)
      return %dw : tensor<24xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$x, CP_FloatTensor:$dy,
                       Optional<CP_FloatTensorOfRank<1>>:$weight,
                       Optional<CP_FloatTensor>:$gate,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<BoolAttr, "true">:$gate_first);
  let results = (outs CP_FloatTensor:$dx, CP_FloatTensorOfRank<1>:$dweight,
                      Optional<CP_FloatTensor>:$dgate);
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `)`)? (`gate` `(` $gate^ `)`)? `from` $dy
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_EmbeddingGradOp : CP_Op<"embedding_grad", [
    Pure, HasShardingRule, DeclareOpInterfaceMethods<RuntimeOpInterface>]> {
  let summary = "The adjoint of cp.embedding with respect to its table";
  let description = [{
    Row i of the result `[v, d]` is the sum of the rows of dy `[b, l, d]` whose id
    is i, in f32 or better. An id outside the table is an error when the program
    runs.

    Constraints:
    - embedding_grad_c1: dy is `[b, l, d]`, the result is `[v, d]` in f32 or
      better.

    ```mlir
    func.func @tokens(%ids: tensor<1x16xi32>, %dy: tensor<1x16x8xf32>)
        -> tensor<96x8xf32> {
      %0 = cp.embedding_grad %ids from %dy
          : (tensor<1x16xi32>, tensor<1x16x8xf32>) -> tensor<96x8xf32>
      return %0 : tensor<96x8xf32>
    }
    ```
  }];
  let arguments = (ins TensorRankOf<[I32, I64], [2]>:$ids,
                       CP_FloatTensorOfRank<3>:$dy);
  let results = (outs CP_FloatTensorOfRank<2>:$dtable);
  let assemblyFormat = [{
    $ids `from` $dy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_SsdGradOp : CP_Op<"ssd_grad", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp
    ] # IsPlacedGrad> {
  let summary = "The adjoint of cp.ssd";
  let description = [{
    From the cotangents dy of y and, if there is one, dstate of the final state,
    those of x, dt, A_log, B, C, D (of `[h, p]`, and as of zeros where there is
    none), dt_bias and the initial state. From the last token to the first, with
    G the cotangent of the state behind a token, and S that state:

        G += dy C^T    dC = S^T dy    dB = G^T (delta x)    d(delta x) = G B
        d(log a) = a <G, S_before>    G_before = a G

    and nothing of G goes back over the start of a sequence that `places` say.
    A step size that is clamped passes no cotangent on; one that equals a limit
    does, as in PyTorch. On a cut sequence `algorithm` says how S and G travel.

    Constraints:
    - ssd_grad_c1: dy and dx have x's type; dstate, the initial state and its
      cotangent are `[b, h, p, n]` in f32 or better;
    - ssd_grad_c2: dt and its cotangent are `[b, l, h]`, A_log and dt_bias are
      `[h]`, and so are their cotangents, in f32 or better;
    - ssd_grad_c3: B, C and their cotangents have one type `[b, l, g, n]`, and g
      divides h;
    - ssd_grad_c4: D is `[h]` or `[h, p]`, and its cotangent `[h, p]` in f32 or
      better;
    - ssd_grad_c5: chunk_size is at least 1 and dt_min is at most dt_max;
    - ssd_grad_c6: places are `[b, l]`.

    ```mlir
    func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
        %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
        %dy: tensor<1x16x2x8xf32>) -> tensor<2xf32> {
      %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt)
          A_log(%a) B(%b) C(%c) from %dy {chunk_size = 8}
          : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
             tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
          -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
              tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>,
              tensor<2xf32>, tensor<1x2x8x4xf32>)
      return %da : tensor<2xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$x,
                       CP_FloatTensorOfRank<3>:$dt,
                       CP_FloatTensorOfRank<1>:$A_log,
                       CP_FloatTensorOfRank<4>:$B,
                       CP_FloatTensorOfRank<4>:$C,
                       CP_FloatTensorOfRank<4>:$dy,
                       Optional<CP_FloatTensor>:$D,
                       Optional<CP_FloatTensorOfRank<1>>:$dt_bias,
                       Optional<CP_FloatTensorOfRank<4>>:$initial,
                       Optional<CP_FloatTensorOfRank<4>>:$dstate,
                       Optional<CP_Places>:$places,
                       OptionalAttr<CP_ScanAlgorithmAttr>:$algorithm,
                       DefaultValuedAttr<I64Attr, "64">:$chunk_size,
                       DefaultValuedAttr<F64Attr, "0.0">:$dt_min,
                       DefaultValuedAttr<F64Attr, "::std::numeric_limits<double>::infinity()">:$dt_max);
  let results = (outs CP_FloatTensorOfRank<4>:$dx,
                      CP_FloatTensorOfRank<3>:$ddt,
                      CP_FloatTensorOfRank<1>:$dA_log,
                      CP_FloatTensorOfRank<4>:$dB,
                      CP_FloatTensorOfRank<4>:$dC,
                      CP_FloatTensorOfRank<2>:$dD,
                      CP_FloatTensorOfRank<1>:$ddt_bias,
                      CP_FloatTensorOfRank<4>:$dinitial);
  let assemblyFormat = [{
    $x `dt` `(` $dt `)` `A_log` `(` $A_log `)` `B` `(` $B `)` `C` `(` $C `)`
    (`D` `(` $D^ `)`)? (`dt_bias` `(` $dt_bias^ `)`)?
    (`initial` `(` $initial^ `)`)? (`places` `(` $places^ `)`)?
    `from` $dy (`and` $dstate^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_SsdGradStatesOp : CP_Op<"ssd_grad_states", [
    Pure, AttrSizedOperandSegments, IsRuntimeOp]> {
  let summary = "The cotangent of a scan's state in front of a rank's tokens";
  let description = [{
    What these tokens alone pass back to the state in front of them: the first half
    of `cp.ssd_grad` on a cut sequence, as `cp.ssd_states` is of `cp.ssd`. What comes
    from behind them is decayed and added by `cp.scan_state`, in reverse.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - ssd_grad_states_c1: dt is `[b, l, h]`, A_log and dt_bias are `[h]`, C is
      `[b, l, g, n]` where g divides h, places are `[b, l]`;
    - ssd_grad_states_c2: the result is `[b, h, p, n]` in f32 or better, chunk_size is
      at least 1 and dt_min is at most dt_max.

    ```mlir
    func.func @back(%dy: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
        %a: tensor<2xf32>, %c: tensor<1x16x1x4xf32>) -> tensor<1x2x8x4xf32>
        attributes {cp.view = "local"} {
      %0 = cp.ssd_grad_states %dy dt(%dt) A_log(%a) C(%c)
          : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
             tensor<1x16x1x4xf32>) -> tensor<1x2x8x4xf32>
      return %0 : tensor<1x2x8x4xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$dy,
                       CP_FloatTensorOfRank<3>:$dt,
                       CP_FloatTensorOfRank<1>:$A_log,
                       CP_FloatTensorOfRank<4>:$C,
                       Optional<CP_FloatTensorOfRank<1>>:$dt_bias,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<I64Attr, "64">:$chunk_size,
                       DefaultValuedAttr<F64Attr, "0.0">:$dt_min,
                       DefaultValuedAttr<F64Attr, "::std::numeric_limits<double>::infinity()">:$dt_max);
  let results = (outs CP_FloatTensorOfRank<4>:$dstate);
  let assemblyFormat = [{
    $dy `dt` `(` $dt `)` `A_log` `(` $A_log `)` `C` `(` $C `)`
    (`dt_bias` `(` $dt_bias^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPGRADOPS_TD
