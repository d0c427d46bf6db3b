//===- ShardingPasses.td - How a program is cut over ranks -*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_SHARDINGPASSES_TD
#define CP_TRANSFORMS_SHARDINGPASSES_TD

include "mlir/Pass/PassBase.td"

/// How a program is cut: options of cp-prepare-cuts and cp-assign-layouts.
defvar shardingOptions = [
  Option<"mesh", "mesh", "std::string", /*default=*/"\"cp=1\"",
         "Axes and sizes, major first, e.g. dp=2,cp=4">,
  Option<"axis", "axis", "std::string", /*default=*/"\"cp\"",
         "The mesh axes that cut the sequence, major first, e.g. ring,u">,
  Option<"order", "order", "std::string", /*default=*/"\"contiguous\"",
         "Token order along the first axis of the sequence: contiguous, zigzag, striped, striped:UNIT, "
         "zigzag_per_document or contiguous_per_document">,
  Option<"batch", "batch", "std::string", /*default=*/"\"\"",
         "The mesh axes that cut the batch, major first, e.g. dp">,
  Option<"mixer", "mixer", "std::string", /*default=*/"\"sequence\"",
         "hidden, sequence or 2d">,
  Option<"attention", "attention", "std::string", /*default=*/"\"ring\"",
         "ulysses, ring, gather or 2d">,
  Option<"tensorAxis", "tp", "std::string", /*default=*/"\"\"",
         "The mesh axis of tensor parallelism, if there is one">,
  Option<"tensorRows", "tp-rows", "bool", /*default=*/"false",
         "Cut the rows between projections over the axis tp too">,
  Option<"scan", "scan", "std::string", /*default=*/"\"chain\"",
         "How states travel over ranks: chain, gather, doubling, pipelined or "
         "transposed">,
  Option<"params", "params", "std::string", /*default=*/"\"\"",
         "The axes that cut parameters where they are kept: gathered before "
         "use, their gradients reduce-scattered">,
  Option<"replicateUnused", "replicate-unused", "bool", /*default=*/"false",
         "Let ranks along an axis that cuts nothing do the same work">,
  Option<"partialGradients", "partial-gradients", "bool", /*default=*/"false",
         "Leave the gradients of parameters as each rank's terms">];

def PrepareCuts : Pass<"cp-prepare-cuts", "::mlir::func::FuncOp"> {
  let summary = "Make heads and groups what ranks can share";
  let description = [{
    What `cp-assign-layouts` does first, with the same options, as a pass: sequences
    that the cuts do not divide get rows behind their last one (10 tokens on 4 ranks
    are 12), of which arguments and results keep, as `cp.length`, how many their
    callers have: a remark `length` of category `cut`. No causal op sees them; sums over tokens
    add zeros for them, what is shifted up from behind the end is what stood there,
    and documents get one more. A dimension that is not the `cp.sequence` of an
    argument cannot get longer (pad_sequence_c1), nor one of a result with several
    elements for each token; nor can a sequence of which an op needs all rows and no
    more, or groups that the longer one is no multiple of (pad_sequence_c2), sees rows
    behind its own, or gives a final state that is used (pad_sequence_c3), or divides integers by what may be 0 in
    rows of padding (pad_sequence_c4). See test/Transforms/pad-sequence.mlir. Ops that
    leave it to the options get the form of attention and the way in which states
    travel; where ranks that will cut an op's heads do not divide its groups (of
    B and C, of keys and values), these are repeated until they do, as far above as
    they go, and where ranks do not divide the heads, heads of zeros stand behind them
    (5 heads on 3 ranks are 6), so that the busiest rank has as few as can be: a
    remark `heads` of category `cut`. A window over channels that the ranks do not
    divide stays along the sequence. The vocabulary of `cp.linear_cross_entropy` is taken in slices, one for each rank of
    tensor parallelism, where they divide it.

    For those who put passes between: `cp-differentiate` behind this makes each
    gradient of a repeated group a sum over the ranks that share it, at the place
    where the group is one. Functions with `cp.view` stay as they are. See
    test/Transforms/prepare-cuts.mlir.
  }];
  let options = shardingOptions;
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AssignLayouts : Pass<"cp-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose where every tensor lives, and insert the reshards";
  let description = [{
    Arguments with `cp.sequence` are cut along that dimension over the axes that
    `axis` lists, the first in `order`; all others hold replicas. The cut flows
    through the ops by their sharding rules. Ops that depend along the sequence
    keep that cut with `mixer=sequence`, or are cut along channels and heads with
    `mixer=hidden`; `mixer=2d` cuts these over the last axis and the sequence over
    the others. The `strategy` of an op overrides this, the form of attention is
    that of `attention` or of the op, and a reshard that is already there stays. What is
    pinned on another mesh over the same ranks comes to the options' by a bridge, for which
    the axes that both have in parts are named by their parts (see `cp-unify-meshes`).
    Ops that can have neither cut together get the sequence cut back, and keep
    beside it what `tp` cuts, where they can. The axes that `batch` lists cut dimension 0 of the arguments with `cp.sequence`, which
    must be shared evenly (assign_c7), and of what is made of them. Heads and groups are
    made what ranks can share (`cp-prepare-cuts`). The axis `tp` cuts the weights of projections that
    `cp.parallel` marks, and heads and channels between them; sums over these are
    made behind the op. With `tp-rows` what is between these blocks (residuals, norms)
    is cut over that axis by rows, behind the axes of the sequence: a block gathers its
    rows, and its sum leaves each rank its own. An axis of several ranks over which nothing is cut, by the options or by layouts of the
    function's own, is an error (assign_c4) unless `replicate-unused` is given.
    Only functions without `cp.view` are changed; they become global. On others,
    which are sharded already, a `mesh` that is not their own is an error (assign_c5);
    so are other options when no public function but this one is there to need them.
    Loops and branches are refused (`assign_c6`). A result with `cp.gradient` or
    `cp.updates` lies as the argument of that name, and must have its sizes
    (`assign_c8`). Other results with `cp.sequence` are cut along that dimension as
    arguments are, in their order (`assign_c9`). Under `order=zigzag_per_document`
    (or `contiguous_per_document`) arguments and results are contiguous rows, and
    attention by documents gets the order, with what lies between if rows are cut
    over one axis; of a function without such attention it is an error
    (`assign_c10`). With `partial-gradients` those of parameters are not added up: each
    rank gets its terms, and the layout names the axes over which they are terms
    (`partial`). For callers who sum the gradients of a whole model at once, as data
    parallelism does. An axis that is not named there holds replicas.
    Where an op cannot have the cuts that its operands came with, a remark
    `refused` of category `cut` says which, why, and what it got instead (see
    test/Transforms/cut-remarks.mlir). See test/Transforms/assign-layouts.mlir.
  }];
  let options = shardingOptions;
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NumberValues : Pass<"cp-number-values", "::mlir::func::FuncOp"> {
  let summary = "Number the ops, so that they are known again after sharding";
  let description = [{
    Each op of a public function that computes a tensor gets `cp.number`, counted
    from 0 in program order. Constants, fills and changes of shape get none. The
    attribute stays with an op that `cp-assign-layouts` changes or clones. See
    test/Transforms/expose-values.mlir.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = math.exp %x {cp.number = 0 : i64} : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
}

def ExposeValues : Pass<"cp-expose-values", "::mlir::func::FuncOp"> {
  let summary = "Return what every op computes, for debugging";
  let description = [{
    Each tensor that a numbered op (`cp-number-values`) computes and another op
    uses becomes one more result of the function, in its own layout, or in the
    natural order of its rows where documents say theirs. The result's
    `cp.value` says which it is: the op's number, name, layer and location, which
    of its results, and whether sharding repeated it (`repeated`: dimension, unit
    and times of the `cp.repeat` that went through the op). A partial sum has no whole tensor to compare with and is
    left out, and so are elements that the runtime has no type for, such as the `i1` of
    comparisons. `cp-run --check=each` compares two programs by these results. See
    test/Transforms/expose-values.mlir.

    ```mlir
    func.func @main(%x: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32> {cp.value = {layer = "-", location = "-",
            number = 0 : i64, op = "math.exp", result = 0 : i64}}) {
      %0 = math.exp %x : tensor<4xf32>
      %1 = math.absf %0 : tensor<4xf32>
      return %1, %0 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
}

def UnifyMeshes : Pass<"cp-unify-meshes", "::mlir::ModuleOp"> {
  let summary = "Write all layouts of a function down on one mesh";
  let description = [{
    Parts of a model may arrange the same ranks as different meshes, between which
    a `cp.reshard` is a bridge: an encoder as `<"dp" = 2, "tp" = 4>`, a language model
    as `<"dp" = 4, "tp" = 2>`. In a global function with several meshes all layouts
    become such on the coarsest mesh of which each axis of theirs is some axes, here
    `<"dp" = 2, "tp/0" = 2, "tp/1" = 2>`; the bridge is then a change of layout like any
    other, of which `cp-lower-reshards` makes the collectives: a gather where fewer
    replicas come (in the groups 0 2, 1 3, 4 6, 5 7 from the second to the first), a slice
    where more do, an exchange where another dimension is cut, nothing where all stays.
    An axis is called as in the first mesh of the function, its parts `tp/0`, the major
    one, and so on; axes of one rank go.

    `cp-assign-layouts` does the same with its options' mesh as the first. Functions
    of one mesh stay as they are. A module whose only functions are in modules within
    it is refused (`unify_c3`): no pass would see them.

    A remark `unified` of category `mesh` says which meshes became which, and which
    axes are found under other names (`tp of dp=2,tp=4: tp/0, tp/1`); so does
    `cp-run --explain`.

    Constraints:
    - unify_c1: the meshes have as many ranks, of the distances of neighbours on any
      two axes one divides the other, and no zigzag cut is over an axis of several
      parts;
    - unify_c2: a function of several meshes neither passes tensors with layouts to
      another one nor, where its type changes, is called.

    See test/Transforms/unify-meshes.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def SimplifyReshards
    : Pass<"cp-simplify-reshards", "::mlir::func::FuncOp"> {
  let summary = "Compose and cancel reshards";
  let description = [{
    A reshard of a reshard becomes one from the first layout to the last, and
    disappears when they are equal; each time a remark `folded` of category
    `reshard` says so. Parts that were made terms of a sum stay so up to the sum:
    others go with it. Those between two meshes stay (`cp-unify-meshes` comes before). See test/Transforms/simplify-reshards.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def VerifyLayouts : Pass<"cp-verify-layouts", "::mlir::func::FuncOp"> {
  let summary = "Check every op of a global function against its sharding rule";
  let description = [{
    Upstream ops accept operands of unlike layouts, and upstream patterns drop
    layouts; this is the check that nothing of the kind has happened:

    - verify_c1: a tensor in a function with layouts has one;
    - verify_c2: an op that sees a cut value has a sharding rule;
    - verify_c3: no cut goes through a dimension that the op cannot cut;
    - verify_c4: dimensions that correspond are cut alike;
    - verify_c5: no axis cuts two factors of one op;
    - verify_c6: a partial sum meets only ops that are linear in it, and a result
      is partial exactly over the axes that cut its summed dimensions;
    - verify_c7: no op adds up over a dimension that is cut by `sizes`;
    - verify_c8: an op that sees an order per document takes each element of the
      batch, dimension 0, by itself;
    - verify_c9: no op divides integers by what may be 0 in rows for which parts by
      `sizes` only have room.

    Changes nothing. See test/Transforms/verify-layouts.mlir.
  }];
}

def Partition : Pass<"cp-partition", "::mlir::func::FuncOp"> {
  let summary = "Turn a global function into the program of one rank";
  let description = [{
    Checks the layouts as `cp-verify-layouts` does. Types become those of one
    rank's part; a reshard keeps its layouts as attributes. A window op that is
    cut along the sequence gets its neighbours' rows by `cp.halo`; a scan is split in
    two halves with `cp.scan_state` between, whose total makes the state behind the
    whole sequence where that is used (see test/Transforms/partition-final-state.mlir).
    The layouts of arguments and results stay as `cp.layout`.

    A sequence may be cut contiguously over one axis or several, or in zigzag
    order over one; heads or channels may be cut over others. Over axes of one
    rank it is not cut, and ops stay as they are. In zigzag order a
    rank has two parts of the sequence, one behind the other. The op then sees
    `x[b, l, ...]` as `x[2b, l/2, ...]`, in which each part is a sequence of its
    own, and an initial state is given to both: no row changes its rank. See
    test/Transforms/partition-zigzag.mlir.

    A remark of category `reshard` says of each reshard from
    and to which layout it goes, for which op and why, and how many bytes a rank
    sends (see test/Transforms/reshard-remarks.mlir). See
    test/Transforms/partition.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def LowerReshards : Pass<"cp-lower-reshards", "::mlir::func::FuncOp"> {
  let summary = "Turn reshards of a local function into collectives";
  let description = [{
    Each reshard becomes the steps of its plan: all-to-all, all-gather, slice,
    all-reduce, reduce-scatter or reorder. An all-to-all that splits a repeated
    dimension reads the source of the repeat. Reorders from and to orders per
    document get the documents of the function's `cp.cut_positions`.
    Collectives move parts of one size: where a layout lists `sizes`, a dimension is
    spread out so that each part has room for the largest, and what a collective
    put together is closed up again.

    Constraints:
    - lower_c1: there the batch is first, and its documents are one value.

    See test/Transforms/lower-reshards.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NarrowGathers : Pass<"cp-narrow-gathers", "::mlir::func::FuncOp"> {
  let summary = "Gather only what is used";
  let description = [{
    Where all that is used of a `cp.all_gather` is a slice that one rank holds
    side by side, such as the last token, each rank's part is sliced at that
    place, and what is gathered is slices. Here rows 7 of the four ranks travel,
    and the last one is kept:

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @last(%x: tensor<1x8x16xf32>) -> tensor<1x1x16xf32>
        attributes {cp.view = "local"} {
      %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1 : i64}
          : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
      %1 = tensor.extract_slice %0[0, 31, 0] [1, 1, 16] [1, 1, 1]
          : tensor<1x32x16xf32> to tensor<1x1x16xf32>
      return %1 : tensor<1x1x16xf32>
    }
    ```

    See test/Transforms/narrow-gathers.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::tensor::TensorDialect"];
}

def MergeExchanges : Pass<"cp-merge-exchanges", "::mlir::func::FuncOp"> {
  let summary = "Let tensors with one route travel as one exchange";
  let description = [{
    Exchanges over one group that do not depend on each other become one op with
    several operands. What the later ones need is moved up. See
    test/Transforms/merge-exchanges.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def HoistReductions : Pass<"cp-hoist-reductions", "::mlir::func::FuncOp"> {
  let summary = "Sum up as soon as the terms are made";
  let description = [{
    Each `cp.reduce_scatter` and `cp.all_reduce` goes up to behind the last op that
    makes what it reads, with the views that it reads it by. What a rank has summed
    of a layer's gradients takes the place of its terms, before the next layer's
    are made: with parameters that are cut, the whole gradients of one layer live at
    a time. See test/Transforms/hoist-reductions.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def ExplainCollectives
    : Pass<"cp-explain-collectives", "::mlir::func::FuncOp"> {
  let summary = "Say by remarks what each collective moves";
  let description = [{
    For each collective and slice of a local function a remark of category
    `collective`: the layer that it belongs to, the layouts before and after by the
    axes that it acts on, which ops want that and why, and the bytes that a rank
    sends (`bytes_by_rank` where ranks differ). Then a remark `total` for each
    kind of collective with the numbers that the runtime will count in one step.
    Changes nothing, and does nothing when no remarks are wanted. See
    test/Transforms/explain-collectives.mlir.
  }];
}

#endif // CP_TRANSFORMS_SHARDINGPASSES_TD
