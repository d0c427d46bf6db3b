//===- CPPlaceOps.td - Ops on the places of tokens ---------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPPLACEOPS_TD
#define CP_IR_CPPLACEOPS_TD

include "cp/IR/CPBase.td"
include "cp/IR/CPCollectiveOps.td"

defvar CP_Positions = TensorRankOf<[I64], [1]>;
defvar CP_AnyPositions = TensorRankOf<[I64], [1, 2]>;

def CP_PositionsOp : CP_Op<"positions", [
    Pure, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getSequenceFactor", "getHiddenFactor"]>,
    DeclareOpInterfaceMethods<PlacedOpInterface, ["isCausal"]>]> {
  let summary = "The place of each token in its sequence";
  let description = [{
    0, 1, 2, ... along a sequence of l tokens. It takes the layout that its user
    needs; cut in whatever order, each rank's part says where its rows stand in
    the whole.

    With `documents`, `[b, n + 1]`, the field's `cu_seqlens`, each element of the
    batch is n documents behind each other, and the result, `[b, l]`, counts in
    each from 0. Document i ends where the next begins, at
    `documents[b, i + 1]`; each list begins with 0, does not fall (a document may
    be empty) and ends with l, which is checked when the program runs. n is the
    most that there may be: what is left of the list repeats l. Padding at the end
    is a document of its own.

    Constraints:
    - positions_c1: with documents the result is `[b, l]`, without `[l]`;
    - positions_c2: the lists of documents are as many as elements of the batch,
      and not empty.

    ```mlir
    func.func @places(%cu_seqlens: tensor<2x4xi32>)
        -> (tensor<64xi64>, tensor<2x64xi64>) {
      %0 = cp.positions : tensor<64xi64>
      %1 = cp.positions documents(%cu_seqlens : tensor<2x4xi32>) : tensor<2x64xi64>
      return %0, %1 : tensor<64xi64>, tensor<2x64xi64>
    }
    ```
  }];
  let arguments = (ins Optional<CP_Documents>:$documents);
  let results = (outs CP_AnyPositions:$result);
  let assemblyFormat = [{
    (`documents` `(` $documents^ `:` type($documents) `)`)?
    attr-dict `:` type($result)
  }];
  let builders = [
    /// Of a sequence that is one.
    OpBuilder<(ins "::mlir::Type":$result), [{
      build($_builder, $_state, result, ::mlir::Value());
    }]>
  ];
  let extraClassDeclaration = [{
    ::llvm::StringRef getRuntimeSymbol();
  }];
  let hasVerifier = 1;
}

def CP_CutPositionsOp : CP_CutOp<"cut_positions", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The places of this rank's tokens";
  let description = [{
    `cp.positions` of a sequence that is cut over a group. With `documents` the
    ranks of the group make sure that they have the same ones; nothing else passes
    between them. `alike` names the axes over which they are compared where these
    are others: also over axes that cut heads, or replicate, ranks must have the
    same documents. With it the cuts may be none, of a sequence that is whole.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one; so are those
      in `alike`, with which there may be no others;
    - layout_c5: the cuts divide the sequence;
    - cut_c2: none lists sizes, and one per document is the only one;
    - positions_c1 and positions_c2, as of `cp.positions`;
    - positions_c3: an order per document wants documents;
    - positions_c4: so does `alike`.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @places(%cu_seqlens: tensor<2x4xi32>)
        -> (tensor<16xi64>, tensor<2x16xi64>, tensor<2x64xi64>)
        attributes {cp.view = "local"} {
      %0 = cp.cut_positions over ["cp" zigzag] of #mesh : tensor<16xi64>
      %1 = cp.cut_positions documents(%cu_seqlens : tensor<2x4xi32>)
          over ["cp" zigzag] of #mesh : tensor<2x16xi64>
      %2 = cp.cut_positions documents(%cu_seqlens : tensor<2x4xi32>)
          alike ["cp"] over [] of #mesh : tensor<2x64xi64>
      return %0, %1, %2 : tensor<16xi64>, tensor<2x16xi64>, tensor<2x64xi64>
    }
    ```
  }];
  let arguments = !con((ins Optional<CP_Documents>:$documents), cutArguments,
                       (ins OptionalAttr<StrArrayAttr>:$alike));
  let results = (outs CP_AnyPositions:$result);
  let assemblyFormat = [{
    (`documents` `(` $documents^ `:` type($documents) `)`)?
    (`alike` $alike^)? `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` type($result)
  }];
  let builders = [
    // Whose documents the ranks of the cuts compare.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$documents,
                   "::cp::MeshAttr":$mesh, "::mlir::ArrayAttr":$cuts), [{
      build($_builder, $_state, result, documents, mesh, cuts, nullptr);
    }]>
  ];
  let extraClassDeclaration = cutDeclaration # [{
    ::llvm::StringRef getRuntimeSymbol();
  }];
}

def CP_RotaryOp : CP_Op<"rotary", [Pure, HasShardingRule, IsRuntimeOp]> {
  let summary = "Rotary position embedding";
  let description = [{
    Turns pairs of channels of x `[b, l, h, p]` by an angle that grows with the
    token's place. With k = dims/2, i below k and the angle
    a = positions[l] * theta^(-2i/dims):

        y[i] = x[i] cos a - x[i+k] sin a    y[i+k] = x[i+k] cos a + x[i] sin a

    so pairs are halves apart, as transformers' `rotate_half` has them. The
    channels from `dims` on (all p are turned unless given) stay as they are.
    Angles are f64, whatever x holds. Positions are `[l]`, or `[b, l]` where the
    elements of the batch differ.

    Constraints:
    - rotary_c1: the result has x's type;
    - rotary_c2: positions are `[l]` or `[b, l]`;
    - rotary_c3: dims is even, at least 2 and at most p;
    - rotary_c4: theta is a number above 0.

    ```mlir
    func.func @turn(%q: tensor<1x64x8x16xf32>) -> tensor<1x64x8x16xf32> {
      %places = cp.positions : tensor<64xi64>
      %0 = cp.rotary %q positions(%places) {dims = 8}
          : (tensor<1x64x8x16xf32>, tensor<64xi64>) -> tensor<1x64x8x16xf32>
      return %0 : tensor<1x64x8x16xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensorOfRank<4>:$x,
                       TensorRankOf<[I64], [1, 2]>:$positions,
                       DefaultValuedAttr<F64Attr, "10000.0">:$theta,
                       OptionalAttr<I64Attr>:$dims);
  let results = (outs CP_FloatTensorOfRank<4>:$result);
  let assemblyFormat = [{
    $x `positions` `(` $positions `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Whether elements of the batch have positions of their own.
    bool isOfBatch() { return getPositions().getType().getRank() == 2; }
  }];
  let hasVerifier = 1;
}

def CP_ShiftTokensOp : CP_Op<"shift_tokens", [
    Pure, HasShardingRule, AllTypesMatch<["source", "result"]>,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getHiddenFactor", "getCutStrategy"]>,
    DeclareOpInterfaceMethods<WindowOpInterface, [
      "getInitialRows", "isReverse"]>]> {
  let summary = "What stands some tokens further on";
  let description = [{
    For a source `[b, l, ...]` and n rows `[b, n, ...]` that come behind its last:

        result[t] = source[t + n]     or rows[t + n - l] where that is beyond it

    so labels are the tokens shifted by one, with what is no label behind them,
    and n tokens further on is what the n-th head of multi-token prediction is
    asked for. With `delay` the rows come before the first and what stood n tokens
    earlier is given. A window op: each rank gets the rows that it lacks from those
    that hold them, however its sequence is cut.

    Of several documents in a row the last tokens would get the first ones of the
    next: shift the places too, and select where they are n more (n less, with
    `delay`).

    Lifetime: becomes slices in `convert-cp-to-calls`.

    Constraints:
    - shift_tokens_c1: the source has two dimensions or more, of f32, f64, bf16, i32 or
      i64;
    - shift_tokens_c2: the rows are one or more, a known number, and otherwise
      as the source.

    ```mlir
    func.func @labels(%ids: tensor<2x16xi32>, %places: tensor<2x16xi64>)
        -> tensor<2x16xi32> {
      %none = arith.constant dense<-100> : tensor<2x1xi32>
      %next = cp.shift_tokens %ids then %none : tensor<2x16xi32>, tensor<2x1xi32>

      %outside = arith.constant dense<-1> : tensor<2x1xi64>
      %one = arith.constant dense<1> : tensor<2x16xi64>
      %place = cp.shift_tokens %places then %outside
          : tensor<2x16xi64>, tensor<2x1xi64>
      %wanted = arith.addi %places, %one : tensor<2x16xi64>
      %same = arith.cmpi eq, %place, %wanted : tensor<2x16xi64>
      %ignored = arith.constant dense<-100> : tensor<2x16xi32>
      %labels = arith.select %same, %next, %ignored
          : tensor<2x16xi1>, tensor<2x16xi32>
      return %labels : tensor<2x16xi32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$rows,
                       UnitAttr:$delay);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `then` $rows attr-dict `:` type($source) `,` type($rows)
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPPLACEOPS_TD
