// RUN: %cp-opt %s --cp-next-token-loss --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %cp-opt %s --cp-next-token-loss=sums --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=SUMS

// SUMS-LABEL: func.func @main(
// SUMS-SAME:    -> (tensor<f32> {cp.name = "loss"}, tensor<f32> {cp.name = "count"})
// SUMS-NOT:     arith.divf
// SUMS:         return

// RUN: %cp-opt %s --cp-next-token-loss=ids=input_ids --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=MADE

// MADE-LABEL: func.func @main(
// MADE-SAME:    %[[IDS:[a-z0-9]+]]: tensor<1x8xi32>
// MADE-SAME:    %{{[a-z0-9]+}}: tensor<9x4xbf16> {cp.param = "w"}) -> (tensor<f32> {cp.name = "loss"})
// MADE:         %[[NONE:.*]] = arith.constant dense<-100> : tensor<1x1xi32>
// MADE:         %[[LABELS:.*]] = cp.shift_tokens %[[IDS]] then %[[NONE]]
// MADE:         cp.linear_cross_entropy {{.*}} labels(%[[LABELS]])

// The head is part of the loss; the mean is over all labels that count.

#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<1x8xi32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<9x4xbf16>
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<1x8xi32> {cp.init = {below = 9 : i64, kind = "ids"}, cp.name = "labels", cp.sequence = 1 : i64}) -> (tensor<f32> {cp.name = "loss"})
// CHECK:         %[[H:.*]] = cp.embedding %[[IDS]]
// CHECK-NOT:     linalg.contract
// CHECK:         %[[LOSSES:.*]], %{{.*}} = cp.linear_cross_entropy %[[H]], %[[W]] labels(%[[LABELS]])
// CHECK-SAME:      -> (tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK:         %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[LOSSES]] : tensor<1x8xf32>)
// CHECK:         %[[COUNT:.*]] = linalg.generic {{.*}} ins(%[[LABELS]] : tensor<1x8xi32>)
// CHECK:         %[[DIVISOR:.*]] = arith.maximumf %[[COUNT]]
// CHECK:         %[[MEAN:.*]] = arith.divf %[[TOTAL]], %[[DIVISOR]] : tensor<f32>
// CHECK:         return %[[MEAN]]
func.func @main(%ids: tensor<1x8xi32> {cp.name = "input_ids", cp.sequence = 1 : i64},
                %w: tensor<9x4xbf16> {cp.param = "w"})
    -> (tensor<1x8x9xbf16> {cp.name = "logits", cp.sequence = 1 : i64}) {
  %h = cp.embedding %ids in %w : (tensor<1x8xi32>, tensor<9x4xbf16>) -> tensor<1x8x4xbf16>
  %f = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<1x8x9xbf16>
  %z = linalg.fill ins(%f : bf16) outs(%e : tensor<1x8x9xbf16>) -> tensor<1x8x9xbf16>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%h, %w : tensor<1x8x4xbf16>, tensor<9x4xbf16>)
      outs(%z : tensor<1x8x9xbf16>) -> tensor<1x8x9xbf16>
  return %0 : tensor<1x8x9xbf16>
}

// -----

// expected-error @below {{next_token_loss_c2: no result has cp.name = 'logits'; name the logits so, or say how they are called by cp-next-token-loss=logits=NAME}}
func.func @unnamed(%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  return %x : tensor<1x8x4xf32>
}

// -----

// expected-error @below {{next_token_loss_c3: result 'logits' must be a projection of hidden states [b, l, d] by a weight [v, d] (a linalg.contract into zeros)}}
func.func @no_head(%x: tensor<1x8x4xf32>) -> (tensor<1x8x4xf32> {cp.name = "logits"}) {
  return %x : tensor<1x8x4xf32>
}

// -----

// expected-error @below {{next_token_loss_c1: has layouts or several blocks; give it the loss before it is sharded}}
func.func @sharded(%x: tensor<1x8x4xf32>) -> (tensor<1x8x4xf32> {cp.name = "logits"})
    attributes {cp.view = "local"} {
  return %x : tensor<1x8x4xf32>
}

// -----

#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>
// expected-error @below {{next_token_loss_c4: there are logits of 1 tokens, and no argument with cp.sequence has as many; give the logits of all tokens}}
func.func @last(%ids: tensor<1x8xi32> {cp.sequence = 1 : i64}, %h: tensor<1x1x4xf32>,
                %w: tensor<9x4xf32> {cp.param = "w"})
    -> (tensor<1x1x9xf32> {cp.name = "logits"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1x9xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<1x1x9xf32>) -> tensor<1x1x9xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%h, %w : tensor<1x1x4xf32>, tensor<9x4xf32>)
      outs(%z : tensor<1x1x9xf32>) -> tensor<1x1x9xf32>
  return %0 : tensor<1x1x9xf32>
}
