//===- CPAttentionGradOps.td - Adjoints of attention -------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPATTENTIONGRADOPS_TD
#define CP_IR_CPATTENTIONGRADOPS_TD

include "cp/IR/CPAttentionOps.td"
include "cp/IR/CPPlaceOps.td"

defvar attentionGradTensors = !con(attentionTensors,
    (ins CP_FloatTensorOfRank<4>:$out, CP_FloatTensorOfRank<3>:$lse,
         CP_FloatTensorOfRank<4>:$dout,
         Optional<CP_FloatTensorOfRank<3>>:$dlse,
         Optional<CP_Places>:$places));
defvar attentionGradResults = (outs CP_FloatTensorOfRank<4>:$dq,
                                    CP_FloatTensorOfRank<4>:$dk,
                                    CP_FloatTensorOfRank<4>:$dv);

def CP_AttentionGradOp : CP_Op<"attention_grad", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getCutStrategy", "canRunOn"]>,
    DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "The adjoint of cp.attention";
  let description = [{
    From its results out and lse, their cotangents dout and, if there is one, dlse,
    and the weights w_j = exp(scale q . k_j - lse) that these give again:

        ds_j = scale w_j (dout . v_j - dout . out + dlse)
        dq = sum_j ds_j k_j    dk_j = sum ds_j q    dv_j = sum w_j dout

    the last two over all queries that see key j, and over the heads of a group,
    in f32 for bf16.

    `form` is that of the op whose adjoint it is, and cuts it alike. In `gather`
    each rank has its queries and all keys, and its terms of dk and dv; a scattered
    sum then gives these to the ranks that have the keys. `positions` `[l]` say
    where its queries stand.

    Constraints:
    - attention_grad_c1: q, k, v, out and lse have the shapes of `cp.attention`,
      and cotangents those of what they are of;
    - attention_grad_c2: the number of heads of k and v divides that of q;
    - attention_grad_c3: q, k, v, out, dout and dq have one element type, and lse,
      dlse, dk and dv that of its sums: f64 with f64, f32 otherwise;
    - attention_grad_c4: with `causal` there are positions, or as many keys as
      queries; in the forms `ring` and `2d` there are as many;
    - attention_grad_c5: the window is not negative, and one above 0 wants
      `causal`;
    - attention_grad_c6: places are `[b, l]` and want `causal`;
    - attention_grad_c7: positions are `[l]` and want `causal`.

    ```mlir
    func.func @heads(%q: tensor<1x64x8x16xf32>, %k: tensor<1x64x2x16xf32>,
                     %lse: tensor<1x8x64xf32>) -> tensor<1x64x2x16xf32> {
      %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %q, %lse from %q
          : (tensor<1x64x8x16xf32>, tensor<1x64x2x16xf32>,
             tensor<1x64x2x16xf32>, tensor<1x64x8x16xf32>, tensor<1x8x64xf32>,
             tensor<1x64x8x16xf32>)
          -> (tensor<1x64x8x16xf32>, tensor<1x64x2x16xf32>,
              tensor<1x64x2x16xf32>)
      return %dk : tensor<1x64x2x16xf32>
    }
    ```
  }];
  let arguments = !con(attentionGradTensors,
                       (ins Optional<CP_Positions>:$positions),
                       attentionOptions,
                       (ins OptionalAttr<CP_AttentionFormAttr>:$form));
  let results = attentionGradResults;
  let extraClassDeclaration = [{
    /// Whether keys and values are cut with the queries.
    bool keysTravel();
  }];
  let assemblyFormat = [{
    $q `,` $k `,` $v (`places` `(` $places^ `)`)?
    (`positions` `(` $positions^ `)`)? `gave` $out `,` $lse
    `from` $dout (`and` $dlse^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CP_RingAttentionGradOp : CP_CutOp<"ring_attention_grad", [
    Communicates, GoesAlongSequence, AttrSizedOperandSegments]> {
  let summary = "The adjoint of cp.ring_attention";
  let description = [{
    `cp.attention_grad` where all tensors hold this rank's rows of a sequence that
    is cut over a group. Keys and values go round as they do forward, and with
    each block go the sums of its dk and dv: from the rank behind the one that has
    it on, each adds its terms, and the last one hands them back to the first,
    which adds its own. So these too travel R-1 steps, in f32 for bf16.

    Lifetime: made by `cp-partition` and `cp-differentiate`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - attention_grad_c1 to attention_grad_c3, attention_grad_c5 and
      attention_grad_c6;
    - attention_grad_c4: there are as many keys as queries;
    - attention_grad_c8: documents as in `cp.ring_attention`;
    - layout_c5: the cuts divide the sequence;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @ring(%q: tensor<1x16x8x16xf32>, %k: tensor<1x16x2x16xf32>,
                    %lse: tensor<1x8x16xf32>) -> tensor<1x16x2x16xf32>
        attributes {cp.view = "local"} {
      %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k gave %q, %lse from %q
          over ["cp" zigzag] of #mesh
          : (tensor<1x16x8x16xf32>, tensor<1x16x2x16xf32>,
             tensor<1x16x2x16xf32>, tensor<1x16x8x16xf32>, tensor<1x8x16xf32>,
             tensor<1x16x8x16xf32>)
          -> (tensor<1x16x8x16xf32>, tensor<1x16x2x16xf32>,
              tensor<1x16x2x16xf32>)
      return %dk : tensor<1x16x2x16xf32>
    }
    ```
  }];
  let arguments = !con(attentionGradTensors,
                       (ins Optional<CP_Documents>:$documents), cutArguments,
                       attentionOptions);
  let results = attentionGradResults;
  let assemblyFormat = [{
    $q `,` $k `,` $v (`places` `(` $places^ `)`)?
    (`documents` `(` $documents^ `)`)? `gave` $out `,` $lse
    `from` $dout (`and` $dlse^)? `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // CP_IR_CPATTENTIONGRADOPS_TD
