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

def CP_PositionsOp : CP_Op<"positions", [
    Pure, HasShardingRule, IsRuntimeOp,
    DeclareOpInterfaceMethods<SequenceOpInterface, [
      "getSequenceFactor", "getHiddenFactor"]>,
    DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "The place of each token in the whole sequence";
  let description = [{
    0, 1, 2, ... along a sequence of l tokens. It takes the layout that its user
    needs; cut in whatever order, each rank's part says where its rows stand in
    the whole.

    ```mlir
    func.func @places() -> tensor<64xi64> {
      %0 = cp.positions : tensor<64xi64>
      return %0 : tensor<64xi64>
    }
    ```
  }];
  let results = (outs CP_Positions:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def CP_CutPositionsOp : CP_CutOp<"cut_positions", [Pure]> {
  let summary = "The places of this rank's tokens";
  let description = [{
    `cp.positions` of a sequence that is cut over a group.

    Lifetime: made by `cp-partition`, becomes a call.

    Constraints:
    - group_c1: axes are axes of the mesh, each once, at least one;
    - layout_c5: the cuts divide the sequence.

    ```mlir
    #mesh = #cp.mesh<"cp" = 4>
    func.func @places() -> tensor<16xi64> attributes {cp.view = "local"} {
      %0 = cp.cut_positions over ["cp" zigzag] of #mesh : tensor<16xi64>
      return %0 : tensor<16xi64>
    }
    ```
  }];
  let arguments = cutArguments;
  let results = (outs CP_Positions:$result);
  let assemblyFormat = "`over` custom<Cuts>($cuts) `of` $mesh attr-dict `:` type($result)";
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

#endif // CP_IR_CPPLACEOPS_TD
