// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd memory=57344 recompute-exchanges" | FileCheck %s
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd memory=20000 recompute-exchanges" 2>&1 | FileCheck %s --check-prefix=LESS

// Six weights of 16 KiB, of which four ranks keep a quarter each. What lives at one time
// is one weight and its gradient as wholes (32768), and the quarters of all gradients
// (24576), which the norm waits for.

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-5: cp.reduce_scatter %
// CHECK:         cp.sgd
// LESS: plan_residuals_c2: the limit is 20000 bytes, but a rank needs at least 57344
#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
func.func @main(%x0: tensor<4x1x64xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %w0: tensor<64x64xf32> {cp.param = "layers.0.w"},
                %w1: tensor<64x64xf32> {cp.param = "layers.1.w"},
                %w2: tensor<64x64xf32> {cp.param = "layers.2.w"},
                %w3: tensor<64x64xf32> {cp.param = "layers.3.w"},
                %w4: tensor<64x64xf32> {cp.param = "layers.4.w"},
                %w5: tensor<64x64xf32> {cp.param = "head.w"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x1 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x0, %w0 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x2 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x1, %w1 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x3 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x2, %w2 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x4 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x3, %w3 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x5 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x4, %w4 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %x6 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x5, %w5 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %square = arith.mulf %x6, %x6 : tensor<4x1x64xf32>
  %loss = linalg.reduce { arith.addf } ins(%square : tensor<4x1x64xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  return %loss : tensor<f32>
}
