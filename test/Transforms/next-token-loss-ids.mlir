// RUN: cp-opt %s --cp-next-token-loss="ids=tokens documents=lists" | FileCheck %s
// RUN: cp-opt %s --cp-next-token-loss="ids=tokens documents=lists" --cp-shard-pipeline="mesh=cp=2 order=zigzag" | FileCheck %s --check-prefix=RANK
// RUN: not cp-opt %s --cp-next-token-loss=ids=none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not cp-opt %s --cp-next-token-loss=ids=w 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not cp-opt %s --cp-next-token-loss="ids=tokens documents=tokens2" 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not cp-opt %s --cp-next-token-loss="documents=lists" 2>&1 | FileCheck %s --check-prefix=EMPTY

// NONE: next_token_loss_c5: ids must be the cp.name of an argument of tensor<2x8xi32> or i64, of known sizes, but is 'none'
// FLOATS: next_token_loss_c5: ids must be the cp.name of an argument of tensor<2x8xi32> or i64, of known sizes, but is 'w'
// WRONG: next_token_loss_c5: documents must be the cp.name of an argument of cu_seqlens, 2 x (n + 1) i32, but is 'tokens2'
// EMPTY: next_token_loss_c5: ids must be the cp.name of an argument of tensor<2x8xi32> or i64, of known sizes, but is ''

// Documents that the program has are not forgotten.
// RUN: sed 's/cp.name = "lists"/cp.name = "lists", cp.init = {kind = "documents", length = 8 : i64}/' %s | not cp-opt --cp-next-token-loss="ids=tokens" 2>&1 | FileCheck %s --check-prefix=FORGOTTEN
// FORGOTTEN: next_token_loss_c5: argument 1 is a list of documents, of whose last tokens no label may be asked; name it by the option documents, too

// Ids that no loss takes.
// RUN: sed 's/2x8xi64/2x8xi8/g' %s | not cp-opt --cp-next-token-loss="ids=tokens" 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: {{error:}}

// The last token of each document has no label. Ids may have 64 bits.

#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>
// CHECK-LABEL: func.func @next_token_loss_c5(
// CHECK-SAME: %[[IDS:.*]]: tensor<2x8xi64> {cp.name = "tokens", cp.sequence = 1 : i64}, %[[LISTS:.*]]: tensor<2x4xi32>
// CHECK: %[[NEXT:.*]] = cp.shift_tokens %[[IDS]] then
// CHECK: %[[PLACES:.*]] = cp.positions documents(%[[LISTS]] : tensor<2x4xi32>) : tensor<2x8xi64>
// CHECK: %[[PLACE:.*]] = cp.shift_tokens %[[PLACES]] then
// CHECK: %[[FOLLOWS:.*]] = arith.cmpi sgt, %[[PLACE]]
// CHECK: %[[LABELS:.*]] = arith.select %[[FOLLOWS]], %[[NEXT]]
// CHECK: cp.linear_cross_entropy {{.*}} labels(%[[LABELS]])
// RANK-LABEL: func.func @next_token_loss_c5(
// RANK: %{{.*}}:2 = cp.halo %{{[^ ]*}}, %{{[^ ]*}} {{.*}} over ["cp" zigzag]
// RANK-NOT: cp.halo
// RANK: cp.linear_cross_entropy
func.func @next_token_loss_c5(
    %ids: tensor<2x8xi64> {cp.name = "tokens", cp.sequence = 1 : i64},
    %lists: tensor<2x4xi32> {cp.name = "lists"},
    %w: tensor<9x4xf32> {cp.name = "w"})
    -> (tensor<2x8x9xf32> {cp.name = "logits"}) {
  %h = cp.embedding %ids in %w : (tensor<2x8xi64>, tensor<9x4xf32>) -> tensor<2x8x4xf32>
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x9xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%h, %w : tensor<2x8x4xf32>, tensor<9x4xf32>)
      outs(%z : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  return %0 : tensor<2x8x9xf32>
}
