//===- CPCollectiveOps.td - Ops over a group of ranks ------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPCOLLECTIVEOPS_TD
#define CP_IR_CPCOLLECTIVEOPS_TD

include "cp/IR/CPBase.td"

/// Ops over the group of ranks that `axes` (major to minor) name on `mesh`.
class CP_GroupOp<string name, list<Trait> traits = []>
    : CP_Op<name, traits # [IsRuntimeOp, GroupOpInterface]> {
  dag groupArguments = (ins CP_MeshAttr:$mesh, StrArrayAttr:$axes);
  let hasVerifier = 1;
}

/// Ops on tensors of which a dimension is cut over a group, by `cuts` (major to
/// minor, each with its order).
class CP_CutOp<string name, list<Trait> traits = []>
    : CP_Op<name, traits # [IsRuntimeOp, GroupOpInterface]> {
  dag cutArguments = (ins CP_MeshAttr:$mesh, CP_CutArrayAttr:$cuts);
  code cutDeclaration = [{
    /// The axes of the group, major to minor.
    ::mlir::ArrayAttr getAxes() { return ::cp::axesOf(getCuts()); }
    /// The cuts as values of the layout algebra.
    std::vector<::cp::Cut> toCuts() {
      return ::cp::cutsOf(getMesh(), getCuts());
    }
  }];
  let extraClassDeclaration = cutDeclaration;
  let hasVerifier = 1;
}

def CP_AllToAllOp : CP_GroupOp<"all_to_all", [Communicates, IsPlanStep,
    DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Moves the cut of tensors from one dimension to another";
  let description = [{
    Each tensor comes cut over the group along its `concat_dims` entry and leaves
    cut along its `split_dims` entry; several tensors travel as one exchange.

        rank  before (rows cut)      after (columns cut)
        0     a00 a01                a00
                                     a10
        1     a10 a11                a01
                                     a11

    Over one axis, `concat_cuts` and `split_cuts` say in which orders tensors are
    cut, where that is not contiguous; the reordering is done by the copies of the
    exchange itself. `repeats` and `repeat_units` repeat the split dimension first,
    as `cp.repeat` would.

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - all_to_all_c1: as many results as operands, and one entry per operand in
      each of the arrays that are there;
    - all_to_all_c2: concat and split dimension exist and differ;
    - all_to_all_c3: a result is its operand with the concat dimension multiplied
      and the split dimension (repeated) divided by the size of the group;
    - all_to_all_c4: where there are cuts the group has one axis, theirs;
    - layout_c5: cuts divide their dimensions;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @exchange(%x: tensor<1x16x32xf32>, %dt: tensor<1x16x8xf32>)
        -> (tensor<1x64x8xf32>, tensor<1x64x2xf32>) attributes {cp.view = "local"} {
      %0:2 = cp.all_to_all %x, %dt over ["cp"] of #mesh
          {concat_dims = array<i64: 1, 1>, split_dims = array<i64: 2, 2>}
          : (tensor<1x16x32xf32>, tensor<1x16x8xf32>)
          -> (tensor<1x64x8xf32>, tensor<1x64x2xf32>)
      return %0#0, %0#1 : tensor<1x64x8xf32>, tensor<1x64x2xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<AnyRankedTensor>:$sources), groupArguments,
    (ins DenseI64ArrayAttr:$concat_dims, DenseI64ArrayAttr:$split_dims,
         OptionalAttr<CP_CutOfEachAttr>:$concat_cuts,
         OptionalAttr<CP_CutOfEachAttr>:$split_cuts,
         OptionalAttr<DenseI64ArrayAttr>:$repeats,
         OptionalAttr<DenseI64ArrayAttr>:$repeat_units));
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $sources `over` $axes `of` $mesh attr-dict
    `:` functional-type(operands, results)
  }];
}

/// Ops that make a cut of one dimension or undo it.
class CP_DimCutOp<string name, list<Trait> traits>
    : CP_CutOp<name, traits # [IsPlanStep]> {
  let arguments = !con((ins AnyRankedTensor:$source), cutArguments,
                       (ins I64Attr:$dim));
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` type($source) `->` type($result)
  }];
}

/// How the cotangent of a gather or of a slice is scaled where ranks that share a
/// whole all hold its cotangent, and not terms of it.
def CP_IsGradScale : AttrConstraint<
    CPred<"::cp::symbolizeGradScale("
          "::llvm::cast<::mlir::StringAttr>($_self).getValue()).has_value()">,
    "that is \"up\", \"down\" or \"none\"">;
def CP_GradScaleAttr : ConfinedAttr<StrAttr, [CP_IsGradScale]>;

/// Exchanges that make a cut of one dimension of each tensor or undo it.
class CP_DimExchangeOp<string name>
    : CP_CutOp<name, [Communicates, IsPlanStep,
                      DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $sources `over` custom<Cuts>($cuts) `of` $mesh attr-dict
    `:` type($sources) `->` type($results)
  }];
  let builders = [
    // Of one tensor.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
                   "::cp::MeshAttr":$mesh, "::mlir::ArrayAttr":$cuts,
                   "int64_t":$dim)>];
}

def CP_AllGatherOp : CP_DimExchangeOp<"all_gather"> {
  let summary = "The whole of a dimension from the ranks' parts";
  let description = [{
    Each rank's part is that of the cuts: blocks in a row, unless they have another
    order. Several tensors travel as one exchange.

    Its adjoint is `cp.reduce_scatter`: each rank has a term of the cotangent of
    the whole. A program written by hand in which all ranks hold that cotangent
    whole says so by `grad_scale`: the adjoint is then `cp.slice`, of the cotangent
    multiplied ("up") or divided ("down") by the size of the group, or as it is
    ("none").

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - all_gather_c1: there are as many results as sources, one or more, and dim exists
      in each;
    - all_gather_c2: a result is its source with `dim` times the group's size;
    - layout_c5: the cuts divide the whole dimension;
    - cut_c1: several cuts are all contiguous;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @whole(%x: tensor<1x16x8xf32>) -> tensor<1x64x8xf32>
        attributes {cp.view = "local"} {
      %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
          : tensor<1x16x8xf32> -> tensor<1x64x8xf32>
      return %0 : tensor<1x64x8xf32>
    }
    func.func @keys(%k: tensor<1x16x2x8xf32>, %v: tensor<1x16x2x4xf32>)
        -> (tensor<1x64x2x8xf32>, tensor<1x64x2x4xf32>)
        attributes {cp.view = "local"} {
      %0:2 = cp.all_gather %k, %v over ["cp"] of #mesh {dim = 1}
          : tensor<1x16x2x8xf32>, tensor<1x16x2x4xf32>
          -> tensor<1x64x2x8xf32>, tensor<1x64x2x4xf32>
      return %0#0, %0#1 : tensor<1x64x2x8xf32>, tensor<1x64x2x4xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<AnyRankedTensor>:$sources), cutArguments,
                       (ins I64Attr:$dim,
                            OptionalAttr<CP_GradScaleAttr>:$grad_scale));
}

def CP_SliceOp : CP_DimCutOp<"slice", [Pure]> {
  let summary = "This rank's part of a dimension of a replicated tensor";
  let description = [{
    How a parameter that every rank holds in full is cut: nothing travels. The
    parts are as for `cp.all_gather`.

    Its adjoint is `cp.unslice`; with `grad_scale` it is `cp.all_gather`, of the
    cotangent scaled as for that op.

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - slice_c1: dim exists;
    - slice_c2: the result is the source with `dim` divided by the group's size;
    - layout_c5: the cuts divide the dimension;
    - cut_c1: several cuts are all contiguous;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @part(%a: tensor<24xf32>) -> tensor<6xf32>
        attributes {cp.view = "local"} {
      %0 = cp.slice %a over ["cp"] of #mesh {dim = 0}
          : tensor<24xf32> -> tensor<6xf32>
      return %0 : tensor<6xf32>
    }
    ```
  }];
  let arguments = !con((ins AnyRankedTensor:$source), cutArguments,
                       (ins I64Attr:$dim,
                            OptionalAttr<CP_GradScaleAttr>:$grad_scale));
  let builders = [
    // Without `grad_scale`, as the passes make it.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
                   "::cp::MeshAttr":$mesh, "::mlir::ArrayAttr":$cuts,
                   "uint64_t":$dim), [{
      build($_builder, $_state, result, source, mesh, cuts, dim,
            ::mlir::StringAttr());
    }]>];
}

def CP_UnsliceOp : CP_DimCutOp<"unslice", [Pure]> {
  let summary = "This rank's part of a dimension as a term of a sum";
  let description = [{
    Zeros around this rank's part, so that the ranks' sum is the whole: nothing
    travels. With it a gather is a sum like others, and goes with them in one
    exchange. It is the adjoint of `cp.slice`. The parts are as for
    `cp.all_gather`.

    Lifetime: made by `cp-lower-reshards` and `cp-differentiate`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - unslice_c1: dim exists;
    - unslice_c2: the result is the source with `dim` times the group's size;
    - unslice_c3: elements are floats, which can be added;
    - layout_c5: the cuts divide the whole dimension;
    - cut_c1: several cuts are all contiguous;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @term(%a: tensor<6xf32>) -> tensor<24xf32>
        attributes {cp.view = "local"} {
      %0 = cp.unslice %a over ["cp"] of #mesh {dim = 0}
          : tensor<6xf32> -> tensor<24xf32>
      %1 = cp.all_reduce %0 over ["cp"] of #mesh : tensor<24xf32>
      return %1 : tensor<24xf32>
    }
    ```
  }];
}

def CP_ReduceScatterOp : CP_DimExchangeOp<"reduce_scatter"> {
  let summary = "Adds the ranks' values and leaves each a part";
  let description = [{
    The terms are added in the order of the group's positions. The parts are as
    for `cp.all_gather`; several tensors travel as one exchange.

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - reduce_scatter_c1: there are as many results as sources, one or more, and dim
      exists in each;
    - reduce_scatter_c2: a result is its source with `dim` divided by the group's
      size;
    - layout_c5: the cuts divide the dimension;
    - cut_c1: several cuts are all contiguous;
    - cut_c2: none lists sizes, and one per document is the only one.

    ```mlir
    #mesh = #cp.mesh<"tp" = 4>
    func.func @sum(%x: tensor<1x64x8xf32>) -> tensor<1x16x8xf32>
        attributes {cp.view = "local"} {
      %0 = cp.reduce_scatter %x over ["tp"] of #mesh {dim = 1}
          : tensor<1x64x8xf32> -> tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<AnyRankedTensor>:$sources), cutArguments,
                       (ins I64Attr:$dim));
}

def CP_AllReduceOp : CP_GroupOp<"all_reduce", [Communicates, IsPlanStep,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Adds the ranks' values";
  let description = [{
    The terms are added in the order of the group's positions; several tensors
    travel as one exchange, and each result has its source's type.

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - all_reduce_c1: there is a source.

    ```mlir
    #mesh = #cp.mesh<"tp" = 4>
    func.func @sum(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
        attributes {cp.view = "local"} {
      %0 = cp.all_reduce %x over ["tp"] of #mesh : tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = !con((ins Variadic<AnyRankedTensor>:$sources),
                       groupArguments);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $sources `over` $axes `of` $mesh attr-dict `:` type($sources)
  }];
}

def CP_ReorderOp : CP_Op<"reorder", [Communicates, IsRuntimeOp, GroupOpInterface,
    IsPlanStep,
    AllTypesMatch<["source", "result"]>]> {
  let summary = "Changes the order in which a dimension is cut";
  let description = [{
    A rank's part is that of the one cut before, and that of the other after. From
    and to orders per document it takes the documents, `[b, n + 1]`, as
    `cp.positions` has them, and the ranks make sure that they have the same ones.

    Lifetime: made by `cp-lower-reshards`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - reorder_c1: dim exists;
    - reorder_c2: both cuts are over the same axes;
    - reorder_c3: their orders differ;
    - layout_c5: both divide the whole dimension;
    - cut_c1: several cuts are all contiguous;
    - cut_c2: none lists sizes, and one per document is the only one;
    - reorder_c4: there are documents where an order is per document, and only
      there: a list for each element of the first dimension, which is not dim.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @balance(%x: tensor<1x16x8xf32>, %cu_seqlens: tensor<1x5xi32>)
        -> (tensor<1x16x8xf32>, tensor<1x16x8xf32>)
        attributes {cp.view = "local"} {
      %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 1}
          : tensor<1x16x8xf32>
      %1 = cp.reorder %x documents(%cu_seqlens : tensor<1x5xi32>) from ["cp"]
          to ["cp" zigzag_per_document] of #mesh {dim = 1} : tensor<1x16x8xf32>
      return %0, %1 : tensor<1x16x8xf32>, tensor<1x16x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source,
                       Optional<CP_Documents>:$documents, CP_MeshAttr:$mesh,
                       CP_CutArrayAttr:$from, CP_CutArrayAttr:$to,
                       I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`documents` `(` $documents^ `:` type($documents) `)`)?
    `from` custom<Cuts>($from) `to` custom<Cuts>($to) `of` $mesh attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// The axes of the group, major to minor.
    ::mlir::ArrayAttr getAxes() { return ::cp::axesOf(getFrom()); }
    ::llvm::StringRef getRuntimeSymbol();
  }];
  let hasVerifier = 1;
}

#endif // CP_IR_CPCOLLECTIVEOPS_TD
