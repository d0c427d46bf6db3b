//===- CPAttentionOps.td - Attention ----------------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPATTENTIONOPS_TD
#define CP_IR_CPATTENTIONOPS_TD

include "cp/IR/CPBase.td"
include "cp/IR/CPCollectiveOps.td"

/// Which factors of an attention op are cut over the axes of the sequence.
def CP_IsAttentionForm : AttrConstraint<
    CPred<"::cp::symbolizeAttentionForm("
          "::llvm::cast<::mlir::StringAttr>($_self).getValue()).has_value()">,
    "\"ulysses\", \"ring\", \"gather\" or \"2d\"">;
def CP_AttentionFormAttr : ConfinedAttr<StrAttr, [CP_IsAttentionForm]>;

/// What all attention ops have in common. `$q` is `[b, l, h, p]`, `$k`
/// `[b, s, g, p]`, `$v` `[b, s, g, v]`.
defvar attentionTensors = (ins CP_FloatTensorOfRank<4>:$q,
                               CP_FloatTensorOfRank<4>:$k,
                               CP_FloatTensorOfRank<4>:$v);
defvar attentionOptions = (ins DefaultValuedAttr<BoolAttr, "true">:$causal,
                               OptionalAttr<F64Attr>:$scale,
                               DefaultValuedAttr<I64Attr, "0">:$window);
defvar attentionResults = (outs CP_FloatTensorOfRank<4>:$out,
                                CP_FloatTensorOfRank<3>:$lse);

def CP_AttentionOp : CP_Op<"attention", [
    Pure, AttrSizedOperandSegments, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getHiddenFactor", "getCutStrategy", "canRunOn", "prepareHiddenCut"]>,
    DeclareOpInterfaceMethods<PlacedOpInterface, ["isCausal"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Softmax attention with grouped heads";
  let description = [{
    q `[b, l, h, p]`, k `[b, s, g, p]`, v `[b, s, g, v]`. Head i of q uses head
    i*g/h of k and v (GQA):

        w_j = exp(scale q . k_j)    out = sum_j w_j v_j / sum_j w_j
        lse = log(sum_j w_j)

    over the keys that a query sees: with `causal` (the default) those at its own
    place in the whole sequence and before, otherwise all; with a `window` above 0
    only the last `window` of these. `scale` is 1/sqrt(p) unless given. The result
    is `[b, l, h, v]`; lse is `[b, h, l]`, in f32 or better.

    `form` says how it is cut over the axes of the sequence, and overrides the
    option of `cp-assign-layouts`:

    | form      | heads      | queries     | keys and values                  |
    |-----------|------------|-------------|----------------------------------|
    | `ulysses` | cut        | whole       | whole; exchanges before, after   |
    | `ring`    | whole      | cut         | cut alike, and go round          |
    | `gather`  | whole      | cut         | gathered                         |
    | `2d`      | inner axis | outer axes  | cut alike, and go round          |

    A `mask` `[l, s]` says in addition which keys (true) a query sees. It is for
    frontends: `cp-decompose` proves that it says no more than `causal` and a
    `window` do, and sets these, or refuses it. No later pass knows it.

    With `places` `[b, l]`, which want `causal`, several sequences follow each
    other: a query sees no key further back than its place says. A query without
    a token (-1) sees none, so that its row is 0 and its lse -inf.

    Without a form, or with one that keeps keys whole, keys and values that are cut
    along the sequence are an error: no rank would see all of them.

    Constraints:
    - attention_c1: q, k, v, the result and lse have the shapes above;
    - attention_c2: g divides h;
    - attention_c3: all but lse have one element type, and lse has f64 with f64,
      f32 otherwise;
    - attention_c4: with `causal`, or in the forms `ring` and `2d`, there are as
      many keys as queries;
    - attention_c5: the window is not negative, and one above 0 wants `causal`;
    - attention_c6: the mask is `[l, s]`;
    - attention_c7: places are `[b, l]` and want `causal`.

    ```mlir
    func.func @heads(%q: tensor<1x64x8x16xf32>, %k: tensor<1x64x2x16xf32>,
                     %v: tensor<1x64x2x16xf32>) -> tensor<1x64x8x16xf32> {
      %out, %lse = cp.attention %q, %k, %v {form = "ring"}
          : (tensor<1x64x8x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
          -> (tensor<1x64x8x16xf32>, tensor<1x8x64xf32>)
      return %out : tensor<1x64x8x16xf32>
    }
    ```
  }];
  let arguments = !con(attentionTensors,
                       (ins Optional<TensorRankOf<[I1], [2]>>:$mask,
                            Optional<CP_Places>:$places),
                       attentionOptions,
                       (ins OptionalAttr<CP_AttentionFormAttr>:$form));
  let results = attentionResults;
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` `(` $mask^ `)`)? (`places` `(` $places^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Whether keys and values are cut with the queries.
    bool keysTravel();
  }];
  let hasVerifier = 1;
}

/// Attention of a rank that has its part of a sequence which is cut.
class CP_CutAttentionOp<string name, list<Trait> traits> : CP_CutOp<name,
    traits # [
      DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = !con(attentionTensors, (ins Optional<CP_Places>:$places),
                       cutArguments, attentionOptions);
  let results = attentionResults;
  let assemblyFormat = [{
    $q `,` $k `,` $v (`places` `(` $places^ `)`)?
    `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` functional-type(operands, results)
  }];
}

def CP_AttentionRowsOp : CP_CutAttentionOp<"attention_rows", [Pure]> {
  let summary = "Attention of this rank's queries with all keys";
  let description = [{
    `cp.attention` where q holds this rank's rows of a sequence that is cut, and k
    and v all rows in their natural order. Nothing travels; the cuts say which keys
    a query sees.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - attention_c1 to attention_c5 and attention_c7, with as many keys as all
      ranks have queries;
    - attention_c8: no cut is per document;
    - layout_c5: the cuts divide the sequence;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @rows(%q: tensor<1x16x8x16xf32>, %k: tensor<1x64x2x16xf32>,
                    %v: tensor<1x64x2x16xf32>) -> tensor<1x16x8x16xf32>
        attributes {cp.view = "local"} {
      %out, %lse = cp.attention_rows %q, %k, %v over ["cp" zigzag] of #mesh
          : (tensor<1x16x8x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
          -> (tensor<1x16x8x16xf32>, tensor<1x8x16xf32>)
      return %out : tensor<1x16x8x16xf32>
    }
    ```
  }];
  let extraClassDeclaration = cutDeclaration # [{
    ::llvm::StringRef getRuntimeSymbol();
  }];
}

def CP_RingAttentionOp : CP_CutAttentionOp<"ring_attention", [
    Communicates, GoesAlongSequence, AttrSizedOperandSegments]> {
  let summary = "Attention in which keys and values go round";
  let description = [{
    `cp.attention` where q, k and v hold this rank's rows of a sequence that is
    cut over a group. In R-1 steps each rank takes from the one before the keys and
    values that it has worked on, while it works on its own; the parts of a row are
    merged by their lse. The op is one, whatever R is. In an order per document it
    takes the documents too.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - attention_c1 to attention_c5, and attention_c7;
    - attention_c8: there are documents, a list for each element of the batch,
      where the order is per document, and only there;
    - layout_c5: the cuts divide the sequence;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @ring(%q: tensor<1x16x8x16xf32>, %k: tensor<1x16x2x16xf32>,
                    %v: tensor<1x16x2x16xf32>) -> tensor<1x16x8x16xf32>
        attributes {cp.view = "local"} {
      %out, %lse = cp.ring_attention %q, %k, %v over ["cp" zigzag] of #mesh
          : (tensor<1x16x8x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>)
          -> (tensor<1x16x8x16xf32>, tensor<1x8x16xf32>)
      return %out : tensor<1x16x8x16xf32>
    }
    ```
  }];
  let arguments = !con(attentionTensors,
                       (ins Optional<CP_Places>:$places,
                            Optional<CP_Documents>:$documents),
                       cutArguments, attentionOptions);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`places` `(` $places^ `)`)?
    (`documents` `(` $documents^ `)`)? `over` custom<Cuts>($cuts) `of` $mesh
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif // CP_IR_CPATTENTIONOPS_TD
