// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=loss optimizer=sgd accumulate" | FileCheck %s
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=4 accumulate" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: cp-shard-pipeline: accumulate is about steps of an optimizer

// Both functions have the sums in one layout, and the step has no exchange.

// CHECK-LABEL: func.func @main_accumulate(
// CHECK-SAME:    %[[SUM:[a-z0-9]+]]: tensor<6x4xf32> {cp.accumulates = "w", cp.layout = #[[$WHOLE:[a-z0-9]+]]
// CHECK-SAME:    tensor<6x4xf32> {cp.layout = #[[$WHOLE]], cp.updates = "accumulated.w"})
// CHECK:         cp.all_reduce %{{.*}} over ["cp"] of #mesh : tensor<f32>
// CHECK:         %[[ALL:.*]] = cp.all_reduce %{{.*}} over ["cp"] of #mesh : tensor<6x4xf32>
// CHECK-NOT:     cp.all_
// CHECK:         cp.accumulate %[[ALL]] into %[[SUM]]
// CHECK-LABEL: func.func @main_update(
// CHECK-SAME:    %[[SUM:[a-z0-9]+]]: tensor<6x4xf32> {cp.accumulates = "w", cp.layout = #[[$WHOLE]]
// CHECK-NOT:     cp.all_
// CHECK:         cp.sgd %{{.*}} by %[[SUM]] rate
// CHECK-NOT:     cp.all_
// CHECK:         return

#x = affine_map<(l, n, k) -> (l, k)>
#w = affine_map<(l, n, k) -> (n, k)>
#y = affine_map<(l, n, k) -> (l, n)>
func.func @main(%x: tensor<16x4xf32> {cp.name = "x", cp.sequence = 0 : i64},
                %w: tensor<6x4xf32> {cp.param = "w"}) -> (tensor<f32> {cp.name = "loss"}, tensor<f32> {cp.name = "count"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x6xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<16x4xf32>, tensor<6x4xf32>)
      outs(%z : tensor<16x6xf32>) -> tensor<16x6xf32>
  %s = arith.mulf %p, %p : tensor<16x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%s : tensor<16x6xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  %n = arith.constant dense<16.0> : tensor<f32>
  return %loss, %n : tensor<f32>, tensor<f32>
}
