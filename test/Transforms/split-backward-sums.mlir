// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=loss" | FileCheck %s --check-prefix=ONE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=loss split" | FileCheck %s

// In one function the loss travels with the gradient. The forward function must not
// wait for that: there the sum of the loss is its own.

// ONE: cp.all_reduce %{{.*}}, %{{.*}} over ["cp"] of #mesh : tensor<f32>, tensor<6x4xf32>

// CHECK-LABEL: func.func @main_forward(
// CHECK:         cp.all_reduce %{{.*}} over ["cp"] of #mesh : tensor<f32>
// CHECK-NOT:     linalg.generic
// CHECK-NOT:     cp.all_reduce
// CHECK-LABEL: func.func @main_backward(
// CHECK-SAME:    tensor<4x4xf32> {{{.*}}cp.name = "x"
// CHECK:         linalg.generic
// CHECK:         cp.all_reduce %{{.*}} over ["cp"] of #mesh : tensor<6x4xf32>
#x = affine_map<(l, n, k) -> (l, k)>
#w = affine_map<(l, n, k) -> (n, k)>
#y = affine_map<(l, n, k) -> (l, n)>
func.func @main(%x: tensor<16x4xf32> {cp.name = "x", cp.sequence = 0 : i64},
                %w: tensor<6x4xf32> {cp.param = "w"}) -> (tensor<f32> {cp.name = "loss"}) {
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
  return %loss : tensor<f32>
}
