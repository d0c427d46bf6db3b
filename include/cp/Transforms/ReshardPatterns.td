//===- ReshardPatterns.td - The algebra of reshards --------*- tablegen -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_RESHARDPATTERNS_TD
#define CP_TRANSFORMS_RESHARDPATTERNS_TD

include "cp/IR/CPOps.td"
include "mlir/IR/PatternBase.td"

// In the global view types hold the layouts, so the composition is implicit; a
// reshard with `from` and `to` is local and left to its own fold.
// Where parts were made terms in order to be added up with other terms, by one
// exchange for all, a gather of the parts would be one more.
def ComposeReshards : Pat<
  (CP_ReshardOp:$outer (CP_ReshardOp:$inner $source, $from1, $to1),
                       $from2, $to2),
  (CP_ReshardOp $source, $from2, $to2),
  [(Constraint<CPred<"!$0 && !$1">> $from1, $from2),
   (Constraint<CPred<"onOneMesh($0, $1)">> $inner, $outer),
   (Constraint<CPred<"!addsUpParts($0, $1)">> $inner, $outer)]>;

#endif // CP_TRANSFORMS_RESHARDPATTERNS_TD
