// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd memory=41600 recompute-exchanges" | FileCheck %s
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd memory=41599 recompute-exchanges" 2>&1 | FileCheck %s --check-prefix=LESS

// Six layers of 16640 bytes of parameters, of which four ranks keep a quarter each. What
// lives at one time is one layer's weights or gradients as wholes, and the quarters of all
// gradients (24960), which the norm waits for.

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-6: cp.reduce_scatter %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} over ["dp"]
// CHECK-NOT:     cp.reduce_scatter
// CHECK:         cp.sgd
// LESS: plan_residuals_c2: the limit is 41599 bytes, but a rank needs at least 41600

#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
func.func @main(%x0: tensor<4x1x64xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %s0: tensor<64xf32> {cp.param = "layers.0.norm"}, %w0: tensor<64x64xf32> {cp.param = "layers.0.w"},
                %s1: tensor<64xf32> {cp.param = "layers.1.norm"}, %w1: tensor<64x64xf32> {cp.param = "layers.1.w"},
                %s2: tensor<64xf32> {cp.param = "layers.2.norm"}, %w2: tensor<64x64xf32> {cp.param = "layers.2.w"},
                %s3: tensor<64xf32> {cp.param = "layers.3.norm"}, %w3: tensor<64x64xf32> {cp.param = "layers.3.w"},
                %s4: tensor<64xf32> {cp.param = "layers.4.norm"}, %w4: tensor<64x64xf32> {cp.param = "layers.4.w"},
                %s5: tensor<64xf32> {cp.param = "head.norm"}, %w5: tensor<64x64xf32> {cp.param = "head.w"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n0 = cp.rms_norm %x0 weight(%s0) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x1 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n0, %w0 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n1 = cp.rms_norm %x1 weight(%s1) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x2 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n1, %w1 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n2 = cp.rms_norm %x2 weight(%s2) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x3 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n2, %w2 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n3 = cp.rms_norm %x3 weight(%s3) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x4 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n3, %w3 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n4 = cp.rms_norm %x4 weight(%s4) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x5 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n4, %w4 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %n5 = cp.rms_norm %x5 weight(%s5) : (tensor<4x1x64xf32>, tensor<64xf32>) -> tensor<4x1x64xf32>
  %x6 = linalg.contract indexing_maps = [#x, #w, #y] ins(%n5, %w5 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %square = arith.mulf %x6, %x6 : tensor<4x1x64xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%square : tensor<4x1x64xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  return %loss : tensor<f32>
}
