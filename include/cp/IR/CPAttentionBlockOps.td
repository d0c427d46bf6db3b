//===- CPAttentionBlockOps.td - A whole attention layer ----*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPATTENTIONBLOCKOPS_TD
#define CP_IR_CPATTENTIONBLOCKOPS_TD

include "cp/IR/CPAttentionOps.td"

def CP_AttentionBlockOp : CP_Op<"attention_block", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "A whole attention layer, as a frontend hands it over";
  let description = [{
    For hidden states u `[b, l, d]`, with H query heads and G key heads of P
    channels:

        q, k, v = heads(u q_proj^T + bias), heads(u k_proj^T + bias), ...
        q, k = rotary(q), rotary(k)               with `rope_theta`
        out = merge(attention(q, k, v)) o_proj^T + bias

    `q_proj` is `[H*P, d]`, `k_proj` and `v_proj` are `[G*P, d]`, `o_proj` is
    `[d, H*P]`; a bias follows its weight. `causal`, `scale`, `window` and `form`
    are those of `cp.attention`, `rope_theta` and `rotary_dims` (a whole head
    unless given) the theta and dims of `cp.rotary`.

    With `documents` (`cu_seqlens`, see `cp.positions`) each row of the batch holds
    several documents: a query sees keys of its own, and rotary places count in each
    from 0.

    Lifetime: made by frontends, opened by `cp-decompose`; no later pass knows
    it.

    Constraints:
    - attention_block_c1: the result has u's type;
    - attention_block_c2: num_heads, num_kv_heads and head_dim are positive, and
      num_kv_heads divides num_heads;
    - attention_block_c3: each weight and bias has the shape above;
    - attention_block_c4: all element types but that of documents agree;
    - attention_block_c5: the window is not negative, and one above 0 wants
      `causal`;
    - attention_block_c6: rope_theta is a number above 0; rotary_dims wants it, is
      even, at least 2 and at most head_dim;
    - attention_block_c7: documents are `[b, n + 1]`, and want `causal`.

    ```mlir
    func.func @layer(%u: tensor<1x16x32xf32>, %q: tensor<32x32xf32>,
        %k: tensor<16x32xf32>, %v: tensor<16x32xf32>, %o: tensor<32x32xf32>)
        -> tensor<1x16x32xf32> {
      %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
          {num_heads = 4, num_kv_heads = 2, head_dim = 8, rope_theta = 1.0e4,
           rotary_dims = 4}
          : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
             tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
      return %0 : tensor<1x16x32xf32>
    }
    ```
  }];
  let arguments = (ins
    CP_FloatTensorOfRank<3>:$u,
    CP_FloatTensorOfRank<2>:$q_proj,
    Optional<CP_FloatTensorOfRank<1>>:$q_bias,
    CP_FloatTensorOfRank<2>:$k_proj,
    Optional<CP_FloatTensorOfRank<1>>:$k_bias,
    CP_FloatTensorOfRank<2>:$v_proj,
    Optional<CP_FloatTensorOfRank<1>>:$v_bias,
    CP_FloatTensorOfRank<2>:$o_proj,
    Optional<CP_FloatTensorOfRank<1>>:$o_bias,
    Optional<CP_Documents>:$documents,
    I64Attr:$num_heads, I64Attr:$num_kv_heads, I64Attr:$head_dim,
    DefaultValuedAttr<BoolAttr, "true">:$causal,
    OptionalAttr<F64Attr>:$scale,
    DefaultValuedAttr<I64Attr, "0">:$window,
    OptionalAttr<F64Attr>:$rope_theta,
    OptionalAttr<I64Attr>:$rotary_dims,
    OptionalAttr<CP_AttentionFormAttr>:$form);
  let results = (outs CP_FloatTensorOfRank<3>:$result);
  let assemblyFormat = [{
    $u `q_proj` `(` $q_proj (`,` $q_bias^)? `)`
    `k_proj` `(` $k_proj (`,` $k_bias^)? `)`
    `v_proj` `(` $v_proj (`,` $v_bias^)? `)`
    `o_proj` `(` $o_proj (`,` $o_bias^)? `)`
    (`documents` `(` $documents^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPATTENTIONBLOCKOPS_TD
