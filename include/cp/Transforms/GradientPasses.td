//===- GradientPasses.td - Gradients and steps of training -*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_GRADIENTPASSES_TD
#define CP_TRANSFORMS_GRADIENTPASSES_TD

include "mlir/Pass/PassBase.td"

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
    - differentiate_c1: the function has no gradients yet, has one block, works on
      tensors of known sizes whose types have no layouts, and neither loops nor
      branches; in the local view reshards are collectives already, and no argument or
      result is a partial sum;
    - differentiate_c2: there is a loss, of one float, and what `wrt` names is an
      argument of floats, with a name of its own, once;
    - differentiate_c3: each op between these arguments and the loss has a
      derivative, and reads what depends on them as an operand;
    - differentiate_c4: reductions are sums that nothing else reads, each loop of a
      structured op indexes one dimension of an operand at most, what is no sum is
      written whole, and slices have constant offsets.

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
    - add_update_c4: the function has no `cp.training_only`, of which nothing is done;
    - add_update_c5: parameters are in f64, f32 or bf16.

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

#endif // CP_TRANSFORMS_GRADIENTPASSES_TD
