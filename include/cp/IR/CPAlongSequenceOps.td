//===- CPAlongSequenceOps.td - What goes along the sequence *- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPALONGSEQUENCEOPS_TD
#define CP_IR_CPALONGSEQUENCEOPS_TD

include "cp/IR/CPCollectiveOps.td"

def CP_HaloOp : CP_CutOp<"halo"> {
  let summary = "The rows next to those of this rank";
  let description = [{
    For each source the `before` rows along `dim` that precede this rank's in the
    sequence, or the `after` rows that follow them. They are held by the neighbour,
    and by those behind it where it has fewer. What stands before the whole sequence
    (behind it) are the rows of the matching one of `initial`, or zeros. Several
    tensors travel as one exchange.

        rank   0    1    2    3
        rows   0 1  2 3  4 5  6 7

        before = 3          after = 1
        0  (initial)        0  2
        1  (initial) 0 1    1  4
        2  1 2 3            2  6
        3  3 4 5            3  (initial)

    Cut in zigzag order a rank's rows are two parts of the sequence, one behind the
    other, and a result has as many rows for each: those next to the first part,
    then those next to the second.

        rank  rows        before = 1, over ["cp" zigzag]
        0     0 1 | 6 7   (initial) | 5
        1     2 3 | 4 5   1 | 3

    Lifetime: made by `cp-partition` for window ops, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - halo_c1: as many results as sources, and as many initial rows or none;
    - halo_c2: dim exists, and there is one of before and after, of at least 1;
    - halo_c3: a result and its initial rows are the source with so many rows;
      in zigzag order a result has twice as many;
    - halo_c4: in zigzag order dim is even, and twice the rows are within 64 bits;
    - parts_c1: the cuts are contiguous, or one zigzag cut.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @rows(%x: tensor<1x16x24xf32>) -> tensor<1x3x24xf32>
        attributes {cp.view = "local"} {
      %0 = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 3}
          : (tensor<1x16x24xf32>) -> tensor<1x3x24xf32>
      return %0 : tensor<1x3x24xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<AnyRankedTensor>:$sources,
                            Variadic<AnyRankedTensor>:$initial), cutArguments,
    (ins I64Attr:$dim, OptionalAttr<I64Attr>:$before,
         OptionalAttr<I64Attr>:$after));
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let traits = [Communicates, IsRuntimeOp, GroupOpInterface,
                GoesAlongSequence, AttrSizedOperandSegments,
                DeclareOpInterfaceMethods<ExchangeOpInterface>,
                DeclareOpInterfaceMethods<OpAsmOpInterface,
                                          ["getAsmResultNames"]>];
  let assemblyFormat = [{
    $sources (`initial` `(` $initial^ `)`)?
    `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = cutDeclaration # [{
    /// `before` or `after`, of which a verified op has one.
    ::cp::HaloRows getRows();
  }];
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$sources,
                   "::mlir::ValueRange":$initial, "::cp::MeshAttr":$mesh,
                   "::mlir::ArrayAttr":$cuts, "int64_t":$dim,
                   "::cp::HaloRows":$rows)>];
}

def CP_ScanStateOp : CP_CutOp<"scan_state"> {
  let summary = "Exclusive scan of summaries over ranks";
  let description = [{
    A summary says what a rank's tokens do to the state that runs through them. It
    is a pair (decay, state), by which the state S becomes `decay * S + state`, and
    pairs combine as

        (d1, s1) + (d2, s2) = (d1 d2, d2 s1 + s2)

    where nothing passes a decay of -0, not even NaN: a sequence starts among its
    tokens (`places`). Or it is a list of tensors with a `combine` of its own
    (`#cp.combine`). Gives each rank the combined summary of all ranks before it; on
    the first that of no tokens, which of pairs is (1, 0).

    Of a sequence that is cut in zigzag order a rank brings the summaries of the two
    parts that it holds, and gets the prefix of each: elements 2i and 2i + 1 of
    dimension 0 belong to the first and to the second part. Those are the summaries
    that `cp.ssd_states` makes of `x[b, l, h, p]` seen as `x[2b, l/2, h, p]`.

    With `reverse` the sequence runs from its last token to its first: each rank, or
    part, gets the combined summary of all behind it, of which the last comes first
    in the sum.

    As many results more, if they are there, are the summary of the whole sequence,
    on every rank: `... : tensor<2xf32>, tensor<2x8xf32> total tensor<2xf32>,
    tensor<2x8xf32>`. In zigzag order their dimension 0 is half of the others'.

    Lifetime: made by `cp-partition` for scan ops, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - scan_state_c1: all tensors have one element type, and the first results the
      operands' types;
    - scan_state_c2: a summary is a decay and a state, and decay's sizes are a prefix
      of state's; or, with a combine, one tensor or more that have its `batch_dims`
      dimensions, of the same sizes;
    - scan_state_c3: in zigzag order dimension 0 is there and even, and one of the
      combine's `batch_dims`;
    - scan_state_c4: there is no total or all its tensors, of the operands' types
      but for dimension 0, which is that of one part;
    - parts_c1: the cuts are contiguous, or one zigzag cut.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @prefix(%d: tensor<1x2xf32>, %s: tensor<1x2x8x4xf32>)
        -> tensor<1x2x8x4xf32> attributes {cp.view = "local"} {
      %decay, %state = cp.scan_state %d, %s over ["cp"] of #mesh
          {algorithm = #cp.scan_algorithm<gather>}
          : tensor<1x2xf32>, tensor<1x2x8x4xf32>
      return %state : tensor<1x2x8x4xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<CP_FloatTensor>:$summary), cutArguments,
    (ins DefaultValuedAttr<CP_ScanAlgorithmAttr,
                           "::cp::ScanAlgorithm::Chain">:$algorithm,
         UnitAttr:$reverse, OptionalAttr<CP_CombineAttr>:$combine));
  let results = (outs Variadic<CP_FloatTensor>:$sums);
  let assemblyFormat = [{
    $summary `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` custom<ScanTypes>(type($summary), type($sums))
  }];
  let builders = [
    // Results have their types by the summary's and the cuts; `combine` may be
    // null.
    OpBuilder<(ins "::mlir::ValueRange":$summary, "bool":$hasTotal,
                   "::cp::MeshAttr":$mesh, "::mlir::ArrayAttr":$cuts,
                   "::cp::ScanAlgorithm":$algorithm, "bool":$reverse,
                   "::cp::CombineAttr":$combine)>];
  let extraClassDeclaration = cutDeclaration # [{
    /// The combined summary of what is before this rank; of all ranks, if it is
    /// given.
    ::mlir::ResultRange getPrefix() {
      return getSums().take_front(getSummary().size());
    }
    ::mlir::ResultRange getTotal() {
      return getSums().drop_front(getSummary().size());
    }
    /// How many dimensions count units, each of which combines alone.
    int64_t getUnitDims();
  }];
  let traits = [Communicates, GroupOpInterface, GoesAlongSequence,
    DeclareOpInterfaceMethods<RuntimeOpInterface, [
      "getRuntimeCallback", "getRuntimeCall"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>];
}

def CP_ShiftOp : CP_GroupOp<"shift", [Communicates, GoesAlongSequence,
    AllTypesMatch<["source", "result"]>]> {
  let summary = "The value of the rank some positions before";
  let description = [{
    The source of the rank `offset` positions earlier in the group, zeros where
    there is none.

    Lifetime: for programs written by hand in the local view; becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @before(%x: tensor<1x2xf32>) -> tensor<1x2xf32>
        attributes {cp.view = "local"} {
      %0 = cp.shift %x over ["cp"] of #mesh {offset = 1} : tensor<1x2xf32>
      return %0 : tensor<1x2xf32>
    }
    ```
  }];
  let arguments = !con((ins AnyRankedTensor:$source), groupArguments,
                       (ins I64Attr:$offset));
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `over` $axes `of` $mesh attr-dict `:` type($result)
  }];
}

#endif // CP_IR_CPALONGSEQUENCEOPS_TD
