//===- CPLossOps.td - Losses -------------------------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPLOSSOPS_TD
#define CP_IR_CPLOSSOPS_TD

include "cp/IR/CPBase.td"

// A number for each token, or for each token and slice of a vocabulary.
defvar CP_LossesTensor = TensorRankOf<[AnyFloat], [2, 3]>;

def CP_LinearCrossEntropyOp : CP_Op<"linear_cross_entropy", [
    Pure, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Each token's cross-entropy behind a language model's head";
  let description = [{
    With logits z = h W^T of a token, which are never stored for all of them:

        lse = log sum_v exp(z[v])    loss = lse - z[label]

    Where the label is `ignore_index` both are 0. The mean over a batch is a sum of
    losses divided by a count of labels, each an ordinary sum over tokens: where
    these are cut both are partial, and as no partial sum may be a divisor, the
    count is that of all ranks. Weights of tokens are factors of their losses. A
    label that is neither a row of W nor `ignore_index` is an error when the program
    runs.

    A vocabulary can be taken in slices, so that ranks share it: W is then s slices
    of equal size, `rows` says at which row of the vocabulary each of them starts, and
    there are results of each slice. lse is that of its own logits, and losses are
    -z[label] in the slice that has the label, 0 in the others; so

        lse = log sum_s exp(lse[s])    loss = lse + sum_s losses[s]

    of the whole. Where the label is `ignore_index`, lse is 0 in the slice that starts
    at row 0 and -inf in others. `cp-prepare-cuts` slices the vocabulary for tensor
    parallelism.

    Constraints:
    - linear_cross_entropy_c1: h is `[b, l, d]`, W `[v, d]` of the same element
      type, labels are `[b, l]`;
    - linear_cross_entropy_c2: losses and lse are `[b, l]`, or `[b, l, s]` of slices,
      in f32 or better;
    - linear_cross_entropy_c3: `rows` are as many as divide W's rows, of a
      vocabulary of as many rows as W or more.

    ```mlir
    func.func @loss(%h: tensor<1x16x8xf32>, %w: tensor<96x8xf32>,
                    %labels: tensor<1x16xi32>) -> tensor<1x16xf32> {
      %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
          : (tensor<1x16x8xf32>, tensor<96x8xf32>, tensor<1x16xi32>)
          -> (tensor<1x16xf32>, tensor<1x16xf32>)
      return %losses : tensor<1x16xf32>
    }
    func.func @second_half(%h: tensor<1x16x8xf32>, %w: tensor<48x8xf32>,
        %labels: tensor<1x16xi32>) -> tensor<1x16x1xf32> {
      %start = arith.constant dense<48> : tensor<1xi64>
      %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
          rows(%start of 96)
          : (tensor<1x16x8xf32>, tensor<48x8xf32>, tensor<1x16xi32>, tensor<1xi64>)
          -> (tensor<1x16x1xf32>, tensor<1x16x1xf32>)
      return %lse : tensor<1x16x1xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<3>:$h, CP_FloatTensorOfRank<2>:$weight,
                       TensorRankOf<[I32, I64], [2]>:$labels,
                       Optional<TensorRankOf<[I64], [1]>>:$rows,
                       DefaultValuedAttr<I64Attr, "0">:$vocabulary,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs CP_LossesTensor:$losses, CP_LossesTensor:$lse);
  let assemblyFormat = [{
    $h `,` $weight `labels` `(` $labels `)`
    (`rows` `(` $rows^ `of` $vocabulary `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;

}

def CP_LinearCrossEntropyGradOp : CP_Op<"linear_cross_entropy_grad", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp]> {
  let summary = "The adjoint of cp.linear_cross_entropy";
  let description = [{
    From its lse, the cotangents dloss of the losses and, if there is one, dlse,
    and the probabilities p = exp(z - lse) that the logits give again:

        dz[v] = p[v] (dloss + dlse) - (v = label) dloss
        dh = dz W    dW[v] = sum_{b,l} dz[v] h

    and nothing of a token whose label is `ignore_index`. Of slices of a vocabulary,
    with the `rows` at which they start, `dz[v] = p[v] dlse - (v = label) dloss`, where
    lse and both cotangents are the slice's own; dh is a sum over slices.

    Constraints:
    - linear_cross_entropy_grad_c1: h, W and labels are as there, and dh has h's
      type;
    - linear_cross_entropy_grad_c2: lse, dloss and dlse are `[b, l]`, or `[b, l, s]`
      of slices, and dW is `[v, d]`, in f32 or better;
    - linear_cross_entropy_grad_c3: `rows` are as there.

    ```mlir
    func.func @grad(%h: tensor<1x16x8xf32>, %w: tensor<96x8xf32>,
        %labels: tensor<1x16xi32>, %lse: tensor<1x16xf32>,
        %dloss: tensor<1x16xf32>) -> tensor<96x8xf32> {
      %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %lse
          from %dloss
          : (tensor<1x16x8xf32>, tensor<96x8xf32>, tensor<1x16xi32>,
             tensor<1x16xf32>, tensor<1x16xf32>)
          -> (tensor<1x16x8xf32>, tensor<96x8xf32>)
      return %dw : tensor<96x8xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<3>:$h, CP_FloatTensorOfRank<2>:$weight,
                       TensorRankOf<[I32, I64], [2]>:$labels,
                       Optional<TensorRankOf<[I64], [1]>>:$rows,
                       CP_LossesTensor:$lse, CP_LossesTensor:$dloss,
                       Optional<CP_LossesTensor>:$dlse,
                       DefaultValuedAttr<I64Attr, "0">:$vocabulary,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs CP_FloatTensorOfRank<3>:$dh,
                      CP_FloatTensorOfRank<2>:$dweight);
  let assemblyFormat = [{
    $h `,` $weight `labels` `(` $labels `)`
    (`rows` `(` $rows^ `of` $vocabulary `)`)? `gave` $lse `from` $dloss
    (`and` $dlse^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPLOSSOPS_TD
