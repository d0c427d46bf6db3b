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

// What a body reads beside its operands, and has no gradient.

// CHECK-LABEL: func.func @captured(
// CHECK-SAME: -> (tensor<f64>, tensor<4xf64> {cp.gradient = "x"
func.func @captured(%x: tensor<4xf64> {cp.param = "x"}) -> tensor<f64> {
  %stopped = cp.stop_gradient %x : tensor<4xf64>
  %zero = arith.constant 0 : index
  %first = tensor.extract %stopped[%zero] : tensor<4xf64>
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f64, %b: f64):
    %s = arith.subf %a, %first : f64
    %t = arith.mulf %s, %a : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4xf64>) outs(%z : tensor<f64>) dimensions = [0]
  return %1 : tensor<f64>
}
