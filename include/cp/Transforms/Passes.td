//===- Passes.td - The passes, in the order of the pipelines -*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_PASSES_TD
#define CP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"cp-decompose"> {
  let summary = "Open composite ops";
  let description = [{
    `cp.mamba_mixer` becomes one contraction and one convolution per section (z,
    x, B, C, dt). The sections of the fused weights are slices of rows, which are
    views of the weight's buffer; no later cut goes through a fused dimension.
    `cp.attention_block` becomes its projections, `cp.rotary` where it has a
    theta, and `cp.attention`. The mask of a `cp.attention` is proven to be causal,
    with a window or without, or to hide nothing, and goes; any other is refused,
    for no rank could cut it. See test/Transforms/decompose.mlir and
    test/Transforms/masks.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def Differentiate : Pass<"cp-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Derive the gradients of a function's loss";
  let description = [{
    Reverse mode on whole tensors, before they have layouts, or on what each rank
    does (`cp.view = "local"`): each public function also returns, behind its
    results, the derivative of its loss by each argument that `wrt` names, or by each
    with `cp.param`. `cp.gradient` of such a result names the argument; its type is
    the argument's, with elements of f32 where these are bf16. The loss is the result
    with `cp.name` of that name, or the only one.
    With `cotangents`, the function takes a cotangent for each result instead, as
    a further argument `<name>.cotangent` with `cp.cotangent`, which is cut along the sequence where
    the result says by `cp.sequence` which of its dimensions that is.

    In the local view each collective has the transposed map for its adjoint: a
    gather the scattered sum, an exchange the one back, a scan over ranks that in
    reverse. Where the attributes `cp.layout` say that ranks hold an argument or a
    result whole, its cotangent is one for all of them: it enters on the first
    rank, and terms are added up where it leaves. In a program with `grad_scale`,
    whose cotangents are whole on every rank, neither is done.

    Each op says its adjoint by `AdjointOpInterface`; what they read of the forward
    pass is kept, as the backward pass is in the same function. Where the loss does
    not depend on an argument, a warning says so and the gradient is 0.

    Constraints:
    - differentiate_c1: the function has one block, works on tensors of known sizes
      whose types have no layouts, and neither loops nor branches; in the local view
      reshards are collectives already, and no argument or result is a partial sum;
    - differentiate_c2: there is a loss, of one float, and what `wrt` names is an
      argument of floats, with a name of its own;
    - differentiate_c3: each op between these arguments and the loss has a
      derivative;
    - differentiate_c4: reductions are sums, each loop of a structured op indexes
      one dimension of an operand at most, and slices have constant offsets.

    See test/Transforms/differentiate.mlir.
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "The cp.name of the result that is the loss">,
    ListOption<"wrt", "wrt", "std::string",
               "Names of arguments (cp.param or cp.name) to differentiate by">,
    Option<"cotangents", "cotangents", "bool", /*default=*/"false",
           "Take a cotangent of each result in place of a loss">];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def Accumulate : Pass<"cp-accumulate", "::mlir::func::FuncOp"> {
  let summary = "Sums over micro-batches in place of gradients";
  let description = [{
    To be run on whole tensors behind `cp-differentiate`, where a step takes more than
    one batch. Each gradient, and the results `loss` (a sum over tokens) and `count`
    (how many), become their sums over the micro-batches of a step so far
    (`cp.accumulate`). Such a sum of `w` is an argument behind the others,
    `accumulated.w` with `cp.accumulates`, and a result that updates it; the last
    argument, `micro_batch`, says which one of the step it is, from 0.

    Nothing is divided here: what has different numbers of labels in its batches has
    no mean of means. `cp-add-update{count=count}` divides once, and
    `cp-split-update` parts what is done for each micro-batch from what is done once.

    Constraints:
    - accumulate_c1: a public function works on whole tensors without layouts, in one
      block;
    - accumulate_c2: it has results with `cp.gradient`, and one whose `cp.name` is
      `count`; all are of f64 or less, and that and `loss` are scalars;
    - accumulate_c3: no argument has a name that is to be added.

    See test/Transforms/accumulate.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect"];
}

def PlanResiduals : Pass<"cp-plan-residuals", "::mlir::func::FuncOp"> {
  let summary = "Compute again what takes too much memory to keep";
  let description = [{
    To be run on the program of one rank with its backward pass, when exchanges are
    there. What the backward pass reads of the forward pass lives until then. Where
    all of it together takes more than `limit`, some is computed again, right before
    the first op of the backward pass that reads it: first what takes the least time
    for its bytes. What goes from one layer to the next is kept, so that one layer is
    made again at a time. The plan goes by shapes and ops alone, so that all ranks
    have the same.

    Which ops are made again is the cheapest cut of the graph between what is kept and
    what is made again, where a byte has a price; the limit sets the price. The first
    layers come first. Second computations have `cp.recomputed`, so that CSE keeps
    them. What has travelled is kept, but with `exchanges`, where it may travel again;
    parameters that are kept in parts (`params`) may be gathered again in any case.

    `limit` is of tensors that live at one time, beside arguments, what is returned and
    what is updated in place. Bufferization and `cp-plan-memory` come near it; what
    compiles for a limit of the arena (`CompileOptions::memory`) tries again where they
    end above.

    A remark of category `residual` for each layer of which something is made again
    says what, and one for the step what is kept and what lives at most.

    Constraints:
    - plan_residuals_c1: a public function is the program of one rank, in one block;
    - plan_residuals_c2: the limit is at least what a rank needs at one time where all
      that can be is made again.

    See test/Transforms/plan-residuals.mlir.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"0",
           "Bytes that may live at one time; 0: nothing is computed again">,
    Option<"exchanges", "exchanges", "bool", /*default=*/"false",
           "What has travelled may travel again">];
  let dependentDialects = ["::cp::CPDialect"];
}

def SplitUpdate : Pass<"cp-split-update", "::mlir::ModuleOp"> {
  let summary = "Two functions, for each micro-batch and for the step";
  let description = [{
    To be run last, when layouts are chosen and collectives are there. A public
    function `f` that accumulates becomes two: `f_accumulate` adds a micro-batch to the
    sums, `f_update` makes the step of them. Each takes those arguments of `f` that it
    uses, in their order, so that arguments of one name are one tensor, in one layout.

    Constraints:
    - split_update_c1: the function has one block, no layouts in its types and no ops
      that write to memory, and nobody calls it;
    - split_update_c2: a public function has a `cp.accumulate` whose result updates its
      argument, and results that are made of such;
    - split_update_c3: nothing is read of a sum from before the micro-batch.

    See test/Transforms/accumulate.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::tensor::TensorDialect"];
}

def AddUpdate : Pass<"cp-add-update", "::mlir::func::FuncOp"> {
  let summary = "A step of an optimizer in place of gradients";
  let description = [{
    To be run on whole tensors behind `cp-differentiate`. Each result with
    `cp.gradient` becomes the new value of what it is the gradient of, with
    `cp.updates`; in front of these is `grad_norm`, the norm of all gradients together,
    of f64. What changes from step to step are arguments behind the others: `rate`;
    `clip`, the largest norm, above which gradients are scaled down to it (infinity
    for none), as PyTorch's `clip_grad_norm_` does; with AdamW `step`, counted from 1.
    A step whose norm is not finite changes nothing.

    What the optimizer keeps of a parameter `w` are arguments with `cp.state`, and
    results that update them: `exp_avg.w` and `exp_avg_sq.w`, zeros in front of the
    first step, and, where `w` is in bf16, `master.w`, the parameter in f32, which is
    stepped and rounded.

    With `count` gradients are sums, and so is the result `loss`, if there is one. Both
    are divided by the result of that name, a scalar, and by 1 where that is less.

    Weights decay but for those of one dimension or none, such as norms and biases,
    those named `A_log`, `D` or `dt_bias`, and those with `cp.no_decay`.

    Constraints:
    - add_update_c1: the function works on whole tensors without layouts, and a public
      one has results with `cp.gradient`, each of an argument;
    - add_update_c2: no argument or result has a name that is to be added, and none
      updates anything yet but sums of `cp-accumulate`;
    - add_update_c3: the result that `count` says is a scalar of f64 or less;
    - add_update_c4: the function has no `cp.dropout`, for nothing is dropped.

    See test/Transforms/add-update.mlir.
  }];
  let options = [
    Option<"optimizer", "optimizer", "::cp::Optimizer",
           /*default=*/"::cp::Optimizer::Adamw", "The kind of step",
           [{::llvm::cl::values(
               clEnumValN(::cp::Optimizer::Sgd, "sgd", "cp.sgd"),
               clEnumValN(::cp::Optimizer::Adamw, "adamw", "cp.adamw"))}]>,
    Option<"beta1", "beta1", "double", /*default=*/"0.9",
           "AdamW: how much of the mean of gradients stays in a step">,
    Option<"beta2", "beta2", "double", /*default=*/"0.999",
           "AdamW: how much of the mean of their squares stays">,
    Option<"eps", "eps", "double", /*default=*/"1e-8",
           "AdamW: what is added to the root that steps are divided by">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"0.0",
           "How fast weights decay">,
    Option<"count", "count", "std::string", /*default=*/"\"\"",
           "The cp.name of a result that gradients are divided by">];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def SplitBackward : Pass<"cp-split-backward", "::mlir::ModuleOp"> {
  let summary = "Two functions, forward and backward, in place of one";
  let description = [{
    For those whose forward and backward passes are called apart, as autograd of a
    training framework does. A public function `f` with gradients among its results
    becomes two: `f_forward` gives its other results and, behind them, residuals;
    `f_backward` gives the gradients. Each takes those arguments of `f` that it
    uses, in their order, the latter all cotangents, and then the residuals, in theirs.

    A residual is what the backward pass reads of the forward pass: `cp.name` is
    "residual0" and so on, and it has `cp.residual`. What costs nothing, such as constants and views, is
    made again. In the local view a residual is a rank's own, and its `cp.layout`
    stacks those of all ranks along dimension 0; a scalar has one dimension then.

    To be run when layouts are chosen and collectives are there: layouts of residuals
    then need no agreement. But before `cp-merge-exchanges`, which would send what is of
    the forward pass together with gradients; sums that went with others go apart again.

    Constraints:
    - split_backward_c1: the function has one block, no layouts in its types and no
      ops that write to memory, returns no values of its ops (`cp.value`), and nobody
      calls it;
    - split_backward_c2: a public function has results with `cp.gradient`;
    - split_backward_c3: nothing of the forward pass reads a cotangent.

    See test/Transforms/split-backward.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::tensor::TensorDialect"];
}

def NextTokenLoss : Pass<"cp-next-token-loss", "::mlir::func::FuncOp"> {
  let summary = "A language model's loss in place of its logits";
  let description = [{
    The result with `cp.name` = `logits`, a projection of each token's hidden state,
    becomes the mean cross-entropy of the tokens' labels, which are one more
    argument: `labels`, `[b, l]`, each the id of the token that comes next, or -100
    where there is none. Logits are never stored for all tokens
    (`cp.linear_cross_entropy`). The mean is over all labels of all ranks, and 0
    where there are none. The result's name is then `loss`. With `sums` it is the sum
    of the cross-entropies, and one more result, `count`, is the number of labels, for
    `cp-accumulate`.

    With `ids`, the cp.name of the argument that holds the tokens, the program makes the
    labels itself (`cp.shift_tokens`), wherever its ranks' parts end; with `documents`,
    that of `cu_seqlens`, the last token of each document has none. Padding has no
    labels only where they are an argument.

    Constraints:
    - next_token_loss_c1: a public function has one block and no layouts;
    - next_token_loss_c2: a result has that name;
    - next_token_loss_c3: it is a projection by a weight `[v, d]`;
    - next_token_loss_c4: there is an argument with `cp.sequence` of as many tokens;
    - next_token_loss_c5: `ids` and `documents` name arguments of these.

    See test/Transforms/next-token-loss.mlir.
  }];
  let options = [
    Option<"logits", "logits", "std::string", /*default=*/"\"logits\"",
           "The cp.name of the result that is the logits">,
    Option<"sums", "sums", "bool", /*default=*/"false",
           "The sum of the losses, and how many there are">,
    Option<"ids", "ids", "std::string", /*default=*/"\"\"",
           "The cp.name of the token ids, to make the labels of them">,
    Option<"documents", "documents", "std::string", /*default=*/"\"\"",
           "With ids, the cp.name of the documents' cu_seqlens">];
  let dependentDialects = ["::cp::CPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

/// How a program is cut: options of cp-prepare-cuts and cp-assign-layouts.
defvar shardingOptions = [
  Option<"mesh", "mesh", "std::string", /*default=*/"\"cp=1\"",
         "Axes and sizes, major first, e.g. dp=2,cp=4">,
  Option<"axis", "axis", "std::string", /*default=*/"\"cp\"",
         "The mesh axes that cut the sequence, major first, e.g. ring,u">,
  Option<"order", "order", "std::string", /*default=*/"\"contiguous\"",
         "Of the first of these: contiguous, zigzag, striped or striped:UNIT">,
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
    argument cannot get longer (pad_sequence_c1), nor can a sequence of which an op
    needs all rows and no more (pad_sequence_c2), sees rows behind its own, or gives a
    final state that is used (pad_sequence_c3). See test/Transforms/pad-sequence.mlir. Ops that
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
    arguments are, in their order (`assign_c9`). With `partial-gradients` those of parameters are not added up: each
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
    uses becomes one more result of the function, in its own layout. The result's
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
    of one mesh stay as they are.

    A remark `unified` of category `mesh` says which meshes became which.

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
      is partial exactly over the axes that cut its summed dimensions.

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
    order over one; heads or channels may be cut over others. In zigzag order a
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
    dimension reads the source of the repeat. See
    test/Transforms/lower-reshards.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
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

def ConvertToCalls : Pass<"convert-cp-to-calls", "::mlir::func::FuncOp"> {
  let summary = "Turn runtime ops and contractions into destination-style calls";
  let description = [{
    Each op with `RuntimeOpInterface` becomes a `cp.call` into fresh tensors. A
    contraction of the last dimension with a matrix becomes `matmul`, which
    overwrites its result when the accumulator is a zero fill. See
    test/Transforms/convert-to-calls.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect", "::mlir::tensor::TensorDialect"];
}

def PrepareEntry : Pass<"cp-prepare-entry", "::mlir::func::FuncOp"> {
  let summary = "Make results arguments that are written, and protect the others";
  let description = [{
    The caller owns every buffer: each result becomes a memref argument, and no
    other argument may be written in place. What several ops would write to, a
    tensor without values or of one value, is made for each of them, and what very many
    calls read is several values of one buffer, since the choice of buffers holds each
    reader of a value against all others. Loops and branches
    are refused (`entry_c1`), and so are ops of which upstream makes no loops
    (`entry_c2`).

    Where a result has `cp.updates`, the argument of that name becomes a memref in its
    place, and is written where it lies. Two new values of one argument, one of an
    argument that is not there or of another type, and reads of the old value behind
    the op that makes the new one are refused (`entry_c3`). See
    test/Transforms/prepare-entry.mlir.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ElideBuffers : Pass<"cp-elide-buffers", "::mlir::func::FuncOp"> {
  let summary = "Let ops write where their results will be put";
  let description = [{
    Where an op writes to a tensor without values, and what it gives is then put
    into a result of the function or into a slice of another tensor, it writes there
    at once. Upstream's `eliminateEmptyTensors` on an entry function, whose one block
    lets the order of ops be known beforehand. See
    test/Transforms/elide-buffers.mlir.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanMemory : Pass<"cp-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Give every buffer of a rank its place in one arena";
  let description = [{
    An entry function is one block and hands out no buffer of its own, so the life
    of each allocation is known. All become views of one allocation, which
    `convert-cp-to-runtime` makes the rank's arena: taken in the first step, kept
    for the next ones. Buffers of one place and type share a view, and equal views
    of it are one. Its size stands on the function as `cp.arena`; a remark of
    category `memory` gives it beside the largest set of buffers that are live at
    one time. See test/Transforms/plan-memory.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def OverlapExchanges : Pass<"cp-overlap-exchanges", "::mlir::func::FuncOp"> {
  let summary = "Let exchanges go on while a rank computes";
  let description = [{
    On buffers, before their places are planned. A deferred call goes on until what
    it writes is touched or what it reads is written to, where a `cp.wait` then
    stands; its buffers live as long.

    - A call of `all_reduce` or `reduce_scatter` is deferred, and waited for before
      the next one at the latest. So sums of gradients, which `cp-hoist-reductions`
      has put where their terms are made, go on behind the backward pass of the
      layer before.
    - A call of `all_gather` on arguments, the parts of parameters, goes up to where
      the one before it has ended: parameters of the next layer come while one is
      computed.

    See test/Transforms/overlap-exchanges.mlir.
  }];
  let dependentDialects = ["::cp::CPDialect"];
}

def OutlineKernels : Pass<"cp-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Move loops into small functions, equal ones shared";
  let description = [{
    Each structured op on buffers becomes a call of a private function. Lowering
    loops costs time that grows with the square of their number in one function,
    and equal layers share their kernels. See test/Transforms/outline-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def EmitDeviceKernels : Pass<"cp-emit-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Make kernels for a device of outlined loops";
  let description = [{
    Beside each private function of cp-outline-kernels, which is for processors,
    the module gets a function of the same name in a module `cp_device`: what one
    thread of a grid does, with a pointer a buffer. All parallel dimensions are
    one index, the last one fastest; dimensions that are summed over are loops.
    `cp.device_threads` of the private function says how many threads there are.
    See test/Transforms/emit-device-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ApproximateMath : Pass<"cp-approximate-math"> {
  let summary = "Write exponentials in f32 as polynomials, for vectors";
  let description = [{
    A call of a library in a loop keeps the loop from being vectorized. An
    exponential in f32 becomes the arithmetic that upstream's polynomial
    approximation gives, right to 2^-21, and 0 below -87.7, where results are no
    normal numbers; other types keep the library's, and tensors, which are no loops
    yet, stay as they are. It pays on processors with fused multiply-adds. See
    test/Transforms/approximate-math.mlir. With `all`, for code that has no library,
    so do all functions in f32 for which upstream has one.
  }];
  let options = [Option<"all", "all", "bool", "false",
                        "All functions, not exponentials alone">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandElementwise : Pass<"cp-expand-elementwise"> {
  let summary = "Write elementwise ops without machine code as others";
  let description = [{
    For loops of a rank: `math.sincos`, `math.isinf`, `math.isnormal`, `math.clampf`
    and divisions that round up or down become simpler ops, and conversions between
    f32 and bf16 become arithmetic on their bits, rounded to nearest even, NaN kept:
    processors without bf16 have no instruction for them. See
    test/Transforms/expand-elementwise.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def ConvertToRuntime : Pass<"convert-cp-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turn entry functions into flat lists of runtime calls";
  let description = [{
    An entry function becomes `void(cprt_context *, cprt_stream *, void **)`, the
    last one the pointers of its arguments. Where buffers begin, shapes, strides and
    attributes go to one constant table for a function, a record for each call. So a
    call is two ops: `cp_next`, which writes the pointers of the next record's
    buffers to a table and gives its descriptor, and the call, which passes pointers
    only. Outlined kernels take their pointers from the table too. See
    test/Transforms/convert-to-runtime.mlir.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CP_TRANSFORMS_PASSES_TD
