//===- CPOps.td - Logical ops on whole tensors -------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPOPS_TD
#define CP_IR_CPOPS_TD

include "cp/IR/CPBase.td"

def CP_ReshardOp : CP_Op<"reshard", [
    Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Changes the layout of a tensor; the identity on its value";
  let description = [{
    The only op that changes a layout. From a tensor without a layout it is how
    a user pins one: `cp-assign-layouts` keeps it and gives the source a layout.

    The two layouts may arrange the ranks as two meshes: a bridge between parts of
    a model that are sharded in different ways. `cp-unify-meshes` brings both to
    one mesh.

    In the local view, where types carry no layouts, `from` and `to` hold them;
    `cp-partition` writes these and `cp-lower-reshards` removes the op.

    Constraints:
    - reshard_c1: element types agree, and in the global view shapes too;
    - reshard_c2: in the global view the result has a layout and `from` and `to`
      are not there; in the local view both are, have the types' ranks, and the
      types have no layouts;
    - reshard_c3: both layouts are of one mesh, or in the global view of meshes of
      as many ranks whose axes have common parts; no zigzag cut is over an axis of
      several parts;
    - reshard_c4: no axis becomes partial that was not, and did not cut;
    - reshard_c5: in the local view the types are parts of one shape, which both
      layouts can cut.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    #sequence = #cp.layout<#mesh, [{}, {"cp"}, {} ]>
    #channels = #cp.layout<#mesh, [{}, {}, {"cp"} ]>
    func.func @exchange(%x: tensor<1x64x32xf32, #sequence>)
        -> tensor<1x64x32xf32, #channels> {
      %0 = cp.reshard %x : tensor<1x64x32xf32, #sequence>
                        to tensor<1x64x32xf32, #channels>
      return %0 : tensor<1x64x32xf32, #channels>
    }

    // An encoder on two replicas, a language model on four, and the same 8 ranks.
    #encoder = #cp.mesh<"dp" = 2, "tp" = 4>
    #model = #cp.mesh<"dp" = 4, "tp" = 2>
    #few = #cp.layout<#encoder, [{"dp"}, {}, {} ]>
    #many = #cp.layout<#model, [{"dp"}, {}, {} ]>
    func.func @bridge(%x: tensor<8x64x32xf32, #few>)
        -> tensor<8x64x32xf32, #many> {
      %0 = cp.reshard %x : tensor<8x64x32xf32, #few> to tensor<8x64x32xf32, #many>
      return %0 : tensor<8x64x32xf32, #many>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source,
                       OptionalAttr<CP_LayoutAttr>:$from,
                       OptionalAttr<CP_LayoutAttr>:$to);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`from` $from^ `to` $to)? attr-dict
    `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def CP_MambaMixerOp : CP_Op<"mamba_mixer", [Pure, AttrSizedOperandSegments]> {
  let summary = "A whole Mamba-2 mixer, as a frontend hands it over";
  let description = [{
    For hidden states u `[b, l, d]`, with H heads of P channels, G groups and
    N states, d_inner = H*P:

        z, x, B, C, dt = split(u in_proj^T + in_proj_bias)
        x, B, C = silu(conv(x, B, C))             causal, depthwise, with bias
        y = ssd(x, dt, A_log, B, C, D, dt_bias)
        out = norm(y, gate = z) out_proj^T + out_proj_bias

    `in_proj` is `[2*H*P + 2*G*N + H, d]` in the order z, x, B, C, dt;
    `conv_weight` is `[H*P + 2*G*N, w]`; `out_proj` is `[d, H*P]`; `D` is `[H]` or
    `[H, P]`. Without `norm_weight` there is no norm and the gate is
    `y * silu(z)`. `gate_first` norms `y * silu(z)`; otherwise the norm comes
    first and the gate last. `norm_groups` parts of d_inner are normed each by
    itself. `strategy` overrides the option of `cp-assign-layouts` for this layer.

    With `documents` (`cu_seqlens`, see `cp.positions`) each row of the batch holds
    several documents, and nothing passes from one to the next.

    Lifetime: made by frontends, opened by `cp-decompose`; no later pass knows it.

    Constraints:
    - mixer_c1: the result has u's type;
    - mixer_c2: num_heads, head_dim, num_groups, state_size, chunk_size and
      norm_groups are positive, num_groups divides num_heads and norm_groups
      divides d_inner;
    - mixer_c3: each weight has the shape above, with w at least 1;
    - mixer_c4: all element types but that of documents agree;
    - mixer_c5: dt_min is at most dt_max;
    - mixer_c6: documents are `[b, n + 1]`.

    ```mlir
    func.func @layer(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
        %cw: tensor<24x4xf32>, %cb: tensor<24xf32>, %dtb: tensor<2xf32>,
        %a: tensor<2xf32>, %d: tensor<2xf32>, %nw: tensor<16xf32>,
        %out: tensor<8x16xf32>) -> tensor<1x16x8xf32> {
      %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb) A_log(%a)
          D(%d) norm(%nw) out_proj(%out)
          {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
          : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>,
             tensor<24xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
             tensor<16xf32>, tensor<8x16xf32>) -> tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = (ins
    CP_FloatTensorOfRank<3>:$u,
    CP_FloatTensorOfRank<2>:$in_proj,
    Optional<CP_FloatTensorOfRank<1>>:$in_proj_bias,
    CP_FloatTensorOfRank<2>:$conv_weight,
    Optional<CP_FloatTensorOfRank<1>>:$conv_bias,
    CP_FloatTensorOfRank<1>:$dt_bias,
    CP_FloatTensorOfRank<1>:$A_log,
    CP_FloatTensor:$D,
    Optional<CP_FloatTensorOfRank<1>>:$norm_weight,
    CP_FloatTensorOfRank<2>:$out_proj,
    Optional<CP_FloatTensorOfRank<1>>:$out_proj_bias,
    Optional<CP_Documents>:$documents,
    I64Attr:$num_heads, I64Attr:$head_dim, I64Attr:$num_groups,
    I64Attr:$state_size,
    DefaultValuedAttr<I64Attr, "64">:$chunk_size,
    DefaultValuedAttr<I64Attr, "1">:$norm_groups,
    DefaultValuedAttr<BoolAttr, "true">:$gate_first,
    DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
    DefaultValuedAttr<F64Attr, "0.0">:$dt_min,
    DefaultValuedAttr<F64Attr, "::std::numeric_limits<double>::infinity()">:$dt_max,
    OptionalAttr<CP_StrategyAttr>:$strategy);
  let results = (outs CP_FloatTensorOfRank<3>:$result);
  let assemblyFormat = [{
    $u `in_proj` `(` $in_proj (`,` $in_proj_bias^)? `)`
    `conv` `(` $conv_weight (`,` $conv_bias^)? `)`
    `dt_bias` `(` $dt_bias `)` `A_log` `(` $A_log `)` `D` `(` $D `)`
    (`norm` `(` $norm_weight^ `)`)?
    `out_proj` `(` $out_proj (`,` $out_proj_bias^)? `)`
    (`documents` `(` $documents^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getInnerSize() { return getNumHeads() * getHeadDim(); }
    /// Rows of in_proj that make z, x, B, C and dt.
    ::llvm::SmallVector<int64_t, 5> getSectionSizes();
  }];
}

def CP_Conv1dOp : CP_Op<"conv1d", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp,
    SequenceOpInterface,
    DeclareOpInterfaceMethods<WindowOpInterface, ["getInitialRows"]>]> {
  let summary = "Causal depthwise convolution along the sequence";
  let description = [{
    x `[b, l, c]`, weight `[c, w]`, bias `[c]`, initial rows `[b, w-1, c]`:

        y[t] = bias + sum_k weight[k] * x[t - (w-1) + k]

    Rows before the first come from `initial`, or are zero. With `silu` the
    result is `y * sigmoid(y)`. A window op: cut along the sequence, it needs the
    last w-1 rows of the part before.

    With `places` a row reads no further back than its own sequence goes: those
    of the w-1 rows before it that its place counts. A row without a token is 0.

    Constraints:
    - conv1d_c1: the result has x's type;
    - conv1d_c2: weight is `[c, w]` with w at least 1, bias is `[c]`;
    - conv1d_c3: initial rows are `[b, w-1, c]`;
    - conv1d_c4: all element types but that of places agree;
    - conv1d_c5: places are `[b, l]`;
    - conv1d_c6: places that `cp.positions` makes of documents, which begin anew,
      have no initial rows beside them.

    ```mlir
    func.func @conv(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                    %b: tensor<24xf32>) -> tensor<1x16x24xf32> {
      %0 = cp.conv1d %x weight(%w) bias(%b) {silu = true}
          : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>)
          -> tensor<1x16x24xf32>
      return %0 : tensor<1x16x24xf32>
    }
    func.func @documents(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                         %places: tensor<1x16xi64>) -> tensor<1x16x24xf32> {
      %0 = cp.conv1d %x weight(%w) places(%places)
          : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x16xi64>)
          -> tensor<1x16x24xf32>
      return %0 : tensor<1x16x24xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<3>:$x,
                       CP_FloatTensorOfRank<2>:$weight,
                       Optional<CP_FloatTensorOfRank<1>>:$bias,
                       Optional<CP_FloatTensorOfRank<3>>:$initial,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<BoolAttr, "false">:$silu,
                       OptionalAttr<CP_StrategyAttr>:$strategy);
  let results = (outs CP_FloatTensorOfRank<3>:$result);
  let assemblyFormat = [{
    $x `weight` `(` $weight `)` (`bias` `(` $bias^ `)`)?
    (`initial` `(` $initial^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_SsdOp : CP_Op<"ssd", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<SequenceOpInterface, ["prepareHiddenCut"]>,
    DeclareOpInterfaceMethods<ScanOpInterface, [
      "advance", "getInitialState", "getScanAlgorithm", "setScanAlgorithm"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The Mamba-2 scan (state space duality)";
  let description = [{
    x `[b, l, h, p]`, dt `[b, l, h]`, A_log `[h]`, B and C `[b, l, g, n]`, D `[h]`
    or `[h, p]`, dt_bias `[h]`, initial state `[b, h, p, n]`. Head i uses group
    i*g/h. With delta = clamp(softplus(dt + dt_bias), dt_min, dt_max) and
    a = exp(-exp(A_log) * delta):

        S_t = a_t S_{t-1} + delta_t x_t B_t^T        y_t = S_t C_t + D x_t

    Gives y and the final state. `strategy` ("hidden" or "sequence") and
    `algorithm` override the options of `cp-assign-layouts`. `chunk_size` is how
    many tokens the kernels take at a time; it does not change the result beyond
    rounding.

    With `places` `[b, l]` the tokens of several sequences follow each other: one
    of place 0 starts from a state of zeros, and nothing of the ones before
    reaches it, be it infinite or NaN. One of place -1 is none: its y is 0, and
    the state stays. The final state is that of the last sequence.

    Constraints:
    - ssd_c1: y has x's type, the final state is `[b, h, p, n]`;
    - ssd_c2: dt is `[b, l, h]`, A_log and dt_bias are `[h]`;
    - ssd_c3: B and C have one type `[b, l, g, n]`, and g divides h;
    - ssd_c4: D is `[h]` or `[h, p]`;
    - ssd_c5: the initial state is `[b, h, p, n]`;
    - ssd_c6: all element types but that of places agree;
    - ssd_c7: chunk_size is at least 1 and dt_min is at most dt_max;
    - ssd_c8: places are `[b, l]`;
    - ssd_c9: places that `cp.positions` makes of documents, which begin anew, have
      no initial state beside them.

    ```mlir
    func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
        %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
        %d: tensor<2xf32>, %bias: tensor<2xf32>) -> tensor<1x16x2x8xf32> {
      %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) D(%d) dt_bias(%bias)
          {chunk_size = 8}
          : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
             tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2xf32>,
             tensor<2xf32>) -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
      return %y : tensor<1x16x2x8xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$x,
                       CP_FloatTensorOfRank<3>:$dt,
                       CP_FloatTensorOfRank<1>:$A_log,
                       CP_FloatTensorOfRank<4>:$B,
                       CP_FloatTensorOfRank<4>:$C,
                       Optional<CP_FloatTensor>:$D,
                       Optional<CP_FloatTensorOfRank<1>>:$dt_bias,
                       Optional<CP_FloatTensorOfRank<4>>:$initial,
                       Optional<CP_Places>:$places,
                       DefaultValuedAttr<I64Attr, "64">:$chunk_size,
                       DefaultValuedAttr<F64Attr, "0.0">:$dt_min,
                       DefaultValuedAttr<F64Attr, "::std::numeric_limits<double>::infinity()">:$dt_max,
                       OptionalAttr<CP_StrategyAttr>:$strategy,
                       OptionalAttr<CP_ScanAlgorithmAttr>:$algorithm);
  let results = (outs CP_FloatTensorOfRank<4>:$y,
                      CP_FloatTensorOfRank<4>:$final_state);
  let assemblyFormat = [{
    $x `dt` `(` $dt `)` `A_log` `(` $A_log `)` `B` `(` $B `)` `C` `(` $C `)`
    (`D` `(` $D^ `)`)? (`dt_bias` `(` $dt_bias^ `)`)?
    (`initial` `(` $initial^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_RmsNormOp : CP_Op<"rms_norm", [
    Pure, AttrSizedOperandSegments, IsRuntimeOp,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["localizeSizes"]>]> {
  let summary = "Root-mean-square norm over the last dimension, gated if asked";
  let description = [{
    Divides each of `groups` equal parts of x's last dimension by
    sqrt(mean(x^2) + eps) and multiplies by `weight`. With a gate, `gate_first`
    norms `x * silu(gate)`; otherwise the result is multiplied by `silu(gate)`.
    Token-wise, so a gate never has to travel.

    Constraints:
    - rms_norm_c1: result and gate have x's type;
    - rms_norm_c2: weight is `[c]`, of x's element type;
    - rms_norm_c3: groups is at least 1 and divides c.

    ```mlir
    func.func @norm(%x: tensor<1x16x24xf32>, %w: tensor<24xf32>,
                    %z: tensor<1x16x24xf32>) -> tensor<1x16x24xf32> {
      %0 = cp.rms_norm %x weight(%w) gate(%z) {groups = 3}
          : (tensor<1x16x24xf32>, tensor<24xf32>, tensor<1x16x24xf32>)
          -> tensor<1x16x24xf32>
      return %0 : tensor<1x16x24xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$x,
                       Optional<CP_FloatTensorOfRank<1>>:$weight,
                       Optional<CP_FloatTensor>:$gate,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<BoolAttr, "true">:$gate_first);
  let results = (outs CP_FloatTensor:$result);
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `)`)? (`gate` `(` $gate^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_EmbeddingOp : CP_Op<"embedding", [
    Pure, HasShardingRule, DeclareOpInterfaceMethods<RuntimeOpInterface>]> {
  let summary = "Rows of a table by token id";
  let description = [{
    ids `[b, l]` (i32 or i64), table `[v, d]`: result `[b, l, d]`. An id outside
    the table is an error when the program runs. Row `padding_idx` is looked up
    like any other, but gets no gradient here, as torch's `nn.Embedding` has it.

    Constraints:
    - embedding_c1: the result is `[b, l, d]`, of the table's element type;
    - embedding_c2: padding_idx is a row of the table.

    ```mlir
    func.func @tokens(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>)
        -> tensor<1x16x8xf32> {
      %0 = cp.embedding %ids in %table
          : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = (ins TensorRankOf<[I32, I64], [2]>:$ids,
                       CP_FloatTensorOfRank<2>:$table,
                       OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs CP_FloatTensorOfRank<3>:$result);
  let assemblyFormat = [{
    $ids `in` $table attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_RepeatOp : CP_Op<"repeat", [Pure, HasShardingRule, IsRuntimeOp]> {
  let summary = "Repeats runs of elements of one dimension";
  let description = [{
    Each run of `unit` elements of `dim` stands `times` times in the result, next
    to each other: `[u0 u1]` becomes `[u0 u0 u1 u1]`. How B and C reach every rank
    when ranks do not divide their groups; an all-to-all that follows reads the
    source instead.

    Lifetime: made by `cp-assign-layouts`.

    Constraints:
    - repeat_c1: dim exists, unit and times are at least 1, unit divides the size;
    - repeat_c2: the result is the source with `dim` times `times`.

    ```mlir
    func.func @groups(%b: tensor<1x16x4xf32>) -> tensor<1x16x8xf32> {
      %0 = cp.repeat %b {dim = 2, unit = 4, times = 2}
          : tensor<1x16x4xf32> -> tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim, I64Attr:$unit,
                       I64Attr:$times);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

include "cp/IR/CPCollectiveOps.td"
include "cp/IR/CPAlongSequenceOps.td"
include "cp/IR/CPAttentionBlockOps.td"
include "cp/IR/CPAttentionOps.td"
include "cp/IR/CPAttentionGradOps.td"
include "cp/IR/CPGradOps.td"
include "cp/IR/CPLocalOps.td"
include "cp/IR/CPLossOps.td"
include "cp/IR/CPPlaceOps.td"
include "cp/IR/CPUpdateOps.td"

#endif // CP_IR_CPOPS_TD
