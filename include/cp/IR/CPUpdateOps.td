//===- CPUpdateOps.td - What an optimizer does -------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPUPDATEOPS_TD
#define CP_IR_CPUPDATEOPS_TD

include "cp/IR/CPBase.td"

// Element by element, so that any layout will do that all tensors share. What
// changes from step to step are scalars, in f64 whatever the parameters are.

defvar CP_F64Scalar = TensorRankOf<[F64], [0]>;
defvar CP_I64Scalar = TensorRankOf<[I64], [0]>;

def CP_SquaredNormOp : CP_Op<"squared_norm", [
    Pure, HasShardingRule, DeclareOpInterfaceMethods<RuntimeOpInterface>]> {
  let summary = "The sum of the squares of all elements";
  let description = [{
    Squares are taken and added up in f64. Of a tensor that is cut each rank has a
    term.

    ```mlir
    func.func @norm(%a: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<f64> {
      %0 = cp.squared_norm %a : tensor<8x4xf32> -> tensor<f64>
      %1 = cp.squared_norm %b : tensor<4xf32> -> tensor<f64>
      %2 = cp.sum %0, %1 : tensor<f64>
      %3 = math.sqrt %2 : tensor<f64>
      return %3 : tensor<f64>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$source);
  let results = (outs CP_F64Scalar:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
}

def CP_SumOp : CP_Op<"sum", [
    Pure, HasShardingRule, DeclareOpInterfaceMethods<RuntimeOpInterface>,
    SameOperandsAndResultType]> {
  let summary = "The sum of several numbers";
  let description = [{
    Added up in their order. As one op, because a model has a number for each of
    hundreds of parameters. There is at least one.

    ```mlir
    func.func @total(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>)
        -> tensor<f64> {
      %0 = cp.sum %a, %b, %c : tensor<f64>
      return %0 : tensor<f64>
    }
    ```
  }];
  let arguments = (ins Variadic<CP_F64Scalar>:$terms);
  let results = (outs CP_F64Scalar:$result);
  let assemblyFormat = "$terms attr-dict `:` type($result)";
}

class CP_UpdateOp<string name, list<Trait> traits = [IsRuntimeOp]>
    : CP_Op<name, traits # [Pure, HasShardingRule, UpdateOpInterface]> {
  let hasVerifier = 1;
}

def CP_SgdOp : CP_UpdateOp<"sgd"> {
  let summary = "A step of stochastic gradient descent";
  let description = [{
    With g the gradient times `scale`:

        updated = param - rate (g + weight_decay param)

    `scale` is what clips, and divides sums by a count. A scale that is NaN says that
    there is no step: `updated` is then `param`, to the bit. Parameters are in f32 or
    better; `rounded`, if it is there, is `updated` in bf16.

    Constraints:
    - sgd_c1: param, the gradient and updated have one type, which is in f32 or
      better;
    - sgd_c2: rounded has these sizes, and beside it parameters are in f32;
    - sgd_c3: weight_decay is a number of at least 0.

    ```mlir
    func.func @step(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %rate: tensor<f64>,
                    %scale: tensor<f64>) -> tensor<8x4xf32> {
      %0 = cp.sgd %w by %g rate(%rate) scale(%scale) {weight_decay = 0.01}
          : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f64>, tensor<f64>)
          -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$param, CP_FloatTensor:$grad,
                       CP_F64Scalar:$rate, CP_F64Scalar:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let results = (outs CP_FloatTensor:$updated, Optional<CP_FloatTensor>:$rounded);
  let assemblyFormat = [{
    $param `by` $grad `rate` `(` $rate `)` `scale` `(` $scale `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def CP_AdamwOp : CP_UpdateOp<"adamw"> {
  let summary = "A step of AdamW";
  let description = [{
    With g the gradient times `scale`, and `step` counted from 1:

        m = beta1 exp_avg + (1 - beta1) g
        v = beta2 exp_avg_sq + (1 - beta2) g^2
        updated = (1 - rate weight_decay) param
                  - rate / (1 - beta1^step) m / (sqrt(v / (1 - beta2^step)) + eps)

    A scale that is NaN says that there is no step: all stay as they were, to the bit.
    Parameters and moments are in f32 or better; `rounded`, if it is there, is
    `updated` in bf16. Loshchilov and Hutter, "Decoupled weight decay regularization",
    2019.

    Constraints:
    - adamw_c1: param, the gradient, moments and the results have one type, which is
      in f32 or better;
    - adamw_c2: rounded has these sizes, and beside it parameters are in f32;
    - adamw_c3: betas are at least 0 and below 1, eps and weight_decay are numbers of
      at least 0.

    ```mlir
    func.func @step(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>,
        %v: tensor<8x4xf32>, %rate: tensor<f64>, %step: tensor<i64>,
        %scale: tensor<f64>)
        -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
      %w1, %m1, %v1 = cp.adamw %w by %g moments(%m, %v) rate(%rate) step(%step)
          scale(%scale) {weight_decay = 0.1}
          : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>,
             tensor<f64>, tensor<i64>, tensor<f64>)
          -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
      return %w1, %m1, %v1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$param, CP_FloatTensor:$grad,
                       CP_FloatTensor:$exp_avg, CP_FloatTensor:$exp_avg_sq,
                       CP_F64Scalar:$rate, CP_I64Scalar:$step, CP_F64Scalar:$scale,
                       DefaultValuedAttr<F64Attr, "0.9">:$beta1,
                       DefaultValuedAttr<F64Attr, "0.999">:$beta2,
                       DefaultValuedAttr<F64Attr, "1e-8">:$eps,
                       DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let results = (outs CP_FloatTensor:$updated, CP_FloatTensor:$exp_avg_out,
                      CP_FloatTensor:$exp_avg_sq_out,
                      Optional<CP_FloatTensor>:$rounded);
  let assemblyFormat = [{
    $param `by` $grad `moments` `(` $exp_avg `,` $exp_avg_sq `)`
    `rate` `(` $rate `)` `step` `(` $step `)` `scale` `(` $scale `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def CP_AccumulateOp : CP_UpdateOp<"accumulate", [
    DeclareOpInterfaceMethods<RuntimeOpInterface>]> {
  let summary = "One term more of a sum over micro-batches";
  let description = [{
    `updated` is `grad` where `micro_batch` is 0, whatever is in `sum`, and else the
    sum of both: what one step takes of several batches, of which only one is in
    memory.

    Constraints:
    - accumulate_c1: sum, the gradient and updated have one type, which is in f32 or
      better.

    ```mlir
    func.func @add(%sum: tensor<8x4xf32>, %g: tensor<8x4xf32>, %i: tensor<i64>)
        -> tensor<8x4xf32> {
      %0 = cp.accumulate %g into %sum at(%i)
          : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>) -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins CP_FloatTensor:$grad, CP_FloatTensor:$sum,
                       CP_I64Scalar:$micro_batch);
  let results = (outs CP_FloatTensor:$updated);
  let assemblyFormat = [{
    $grad `into` $sum `at` `(` $micro_batch `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getParam() { return getSum(); }
  }];
}

#endif // CP_IR_CPUPDATEOPS_TD
