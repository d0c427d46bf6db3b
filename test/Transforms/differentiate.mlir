// RUN: %cp-opt %s --cp-differentiate | FileCheck %s

// A product: each factor gets the other, times the loss's cotangent of 1.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[A:.*]]: tensor<f32> {cp.param = "a"}, %[[B:.*]]: tensor<f32> {cp.param = "b"})
// CHECK-SAME: -> (tensor<f32>, tensor<f32> {cp.gradient = "a", cp.name = "grad.a"}, tensor<f32> {cp.gradient = "b", cp.name = "grad.b"})
// CHECK: %[[LOSS:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK: %[[DA:.*]] = arith.mulf %[[ONE]], %[[B]]
// CHECK: %[[DB:.*]] = arith.mulf %[[ONE]], %[[A]]
// CHECK: return %[[LOSS]], %[[DA]], %[[DB]]
func.func @main(%a: tensor<f32> {cp.param = "a"}, %b: tensor<f32> {cp.param = "b"})
    -> tensor<f32> {
  %0 = arith.mulf %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
