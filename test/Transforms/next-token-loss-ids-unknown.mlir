// RUN: not cp-opt %s --cp-next-token-loss=ids=tokens 2>&1 | FileCheck %s

// What a label is behind the last token needs a known number of rows.
// CHECK: next_token_loss_c5: ids must be the cp.name of an argument of tensor<?x8xi32> or i64, of known sizes, but is 'tokens'
#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>
func.func @main(%ids: tensor<?x8xi32> {cp.name = "tokens", cp.sequence = 1 : i64},
    %h: tensor<?x8x4xf32>, %w: tensor<9x4xf32>, %n: index)
    -> (tensor<?x8x9xf32> {cp.name = "logits"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8x9xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<?x8x9xf32>) -> tensor<?x8x9xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%h, %w : tensor<?x8x4xf32>, tensor<9x4xf32>)
      outs(%z : tensor<?x8x9xf32>) -> tensor<?x8x9xf32>
  return %0 : tensor<?x8x9xf32>
}
