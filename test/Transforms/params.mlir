// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 batch=dp params=dp gradients=loss optimizer=adamw" | FileCheck %s
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 batch=dp params=tp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 batch=dp params=dp,dp" 2>&1 | FileCheck %s --check-prefix=TWICE

// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 params=dp" 2>&1 | FileCheck %s --check-prefix=UNUSED

// UNUSED: assign_c4: nothing is cut over axis "dp" (2 ranks) of mesh 'dp=2,cp=2'
// AXIS: axis 'tp' is not an axis of mesh 'dp=2,cp=2'
// TWICE: params names axis 'dp' twice

// A rank keeps a half of the weight and of its moments. It is whole while the ranks
// compute, and its gradient is cut as soon as it is made.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8x4xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<3x4xf32> {cp.layout = #[[$CUT:[a-z0-9]+]], cp.param = "layers.0.w"}
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<1xf32> {cp.layout = #{{[a-z0-9]+}}, cp.param = "layers.0.s"}
// CHECK-SAME:    tensor<3x4xf32> {cp.layout = #[[$CUT]], cp.name = "exp_avg.layers.0.w"
// CHECK-SAME:    tensor<3x4xf32> {cp.layout = #[[$CUT]], cp.updates = "layers.0.w"}
// CHECK:         %[[WHOLE:.*]] = cp.all_gather %[[W]] over ["dp"] of #mesh {dim = 0 : i64}
// CHECK:         linalg.contract {{.*}} ins(%[[X]], %[[WHOLE]]
// CHECK:         %[[G:.*]] = cp.reduce_scatter %{{.*}} over ["dp"] of #mesh {dim = 0 : i64} : tensor<6x4xf32> -> tensor<3x4xf32>
// CHECK:         %[[SUM:.*]] = cp.all_reduce %[[G]] over ["cp"] of #mesh : tensor<3x4xf32>
// CHECK:         %[[NORM:.*]] = cp.squared_norm %[[SUM]]
// CHECK:         cp.all_reduce {{.*}} over ["dp"] of #mesh : tensor<f64>
// CHECK:         cp.adamw %[[W]] by %[[SUM]]
#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
func.func @main(%x: tensor<4x16x4xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %w: tensor<6x4xf32> {cp.param = "layers.0.w"},
                %odd: tensor<1xf32> {cp.param = "layers.0.s"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16x6xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<4x16x6xf32>) -> tensor<4x16x6xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<4x16x4xf32>, tensor<6x4xf32>)
      outs(%z : tensor<4x16x6xf32>) -> tensor<4x16x6xf32>
  %s = arith.mulf %p, %p : tensor<4x16x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%s : tensor<4x16x6xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  return %loss : tensor<f32>
}
