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

def DenseConstants : Pass<"cp-dense-constants"> {
  let summary = "Write constants by their elements";
  let description = [{
    An `arith.constant` of a resource (`dense_resource<blob>`), or a sparse one,
    becomes `dense<...>`, which later passes cut and differentiate. A resource that
    is not there, or is of another size, stays as it is, and who reads it says so.
    See test/Transforms/dense-constants.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

include "cp/Transforms/GradientPasses.td"
include "cp/Transforms/ShardingPasses.td"
include "cp/Transforms/LoweringPasses.td"

#endif // CP_TRANSFORMS_PASSES_TD
