//===- CPDialect.td - The cp dialect -----------------------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_CPDIALECT_TD
#define CP_IR_CPDIALECT_TD

include "mlir/IR/OpBase.td"

def CP_Dialect : Dialect {
  let name = "cp";
  let cppNamespace = "::cp";
  let summary = "Context parallelism for sequence models";
  let description = [{
    A model is written on whole tensors. A `#cp.layout` in a tensor's type says
    where its elements live on a mesh, `cp.reshard` is the only op that changes
    it, and each op says through interfaces how it depends along its sequence
    dimension and how its dimensions correspond. From that one partitioner makes
    the program that each rank runs, with the collectives in it.

    A function is in one of two views, named by its attribute `cp.view`:
    `"global"` (types carry layouts and shapes are those of whole tensors) or
    `"local"` (no layouts in types, shapes are those of one rank's part). A
    function without the attribute has not been sharded yet.

    `cp.device_threads` on a function that cp-outline-kernels made is the number
    of threads that a device runs in its place.

    `cp.arena` on a function is the size in bytes of the memory that
    `cp-plan-memory` has planned for a rank.

    `cp.training_only` on a function is a list of strings, `field = number` of a model's
    configuration, that count when it is trained: values that are dropped, terms of the
    loss. They do not in the function, so no update can be added to it.

    `cp.number` on an op is the number by which `cp-expose-values` knows it;
    `cp.repeated` says of such an op that sharding has repeated its results, as
    `cp.repeat` does with that dim, unit and times.

    `cp.recomputed` on an op says that it computes once more what another op does
    (`cp-plan-residuals`), and must not be replaced by that.

    `cp.parallel` on a projection says which dimension of its weight tensor
    parallelism cuts (option `tp` of `cp-assign-layouts`): `"columns"`, the outputs,
    or `"rows"`, the inputs, which leaves a sum over the ranks to be made.

    Discardable attributes of function arguments and results:
    - `cp.name`: the tensor's name in input and output files;
    - `cp.param`: the argument is a parameter, of that name in weight files;
    - `cp.init`: how to draw an argument that no file gives, as `{kind = "zeros"}`,
      `"ones"`, `"log_arange"` (log 1, log 2, ...), `{kind = "normal", scale = 0.02}`,
      `"uniform"` (from -scale to scale), `{kind = "log_uniform", low = 1.0, high = 16.0}`
      or `"dt_bias"`, which has a `floor` too; of integers `{kind = "ids", below = N}`
      or `{kind = "documents", length = L}`. Without it, floats are drawn with a
      standard deviation of 1, which is a lot for a weight;
    - `cp.sequence`: the dimension that is the sequence;
    - `cp.length`: how many rows callers have along it, of which there are more in the
      program, so that ranks divide them (`cp-prepare-cuts`);
    - `cp.layout`: in the local view, the layout of the whole tensor;
    - `cp.value`: the result is what an op inside computes, and of which op;
    - `cp.gradient`: the result is the loss's derivative by the argument of that
      name;
    - `cp.cotangent`: the argument is a cotangent, that of the result of that name;
    - `cp.residual`: what a forward function keeps for its backward function, each
      rank its own;
    - `cp.updates`: the result is the new value of the argument of that name, which a
      lowered program writes where the old one was;
    - `cp.state`: the argument is what an optimizer keeps of the parameter of that
      name;
    - `cp.accumulates`: the argument is the sum over the micro-batches of a step so
      far, of the gradient by the argument of that name, or of the result of that name;
    - `cp.no_decay`: the parameter is not drawn to zero by `cp-add-update`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif // CP_IR_CPDIALECT_TD
