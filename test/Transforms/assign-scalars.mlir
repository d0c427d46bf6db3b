// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2" | FileCheck %s

// A scalar as one element, and back: whole on every rank.

// CHECK-LABEL: func.func @scalar(
// CHECK-SAME:      %{{.*}}: tensor<4xf64>
// CHECK:         tensor.collapse_shape %{{.*}} [] : tensor<1xf64> into tensor<f64>
// CHECK:         tensor.expand_shape %{{.*}} [] output_shape [1] : tensor<f64> into tensor<1xf64>
func.func @scalar(%x: tensor<8xf64> {cp.sequence = 0 : i64}, %w: tensor<1xf64>)
    -> (tensor<8xf64>, tensor<1xf64>) {
  %0 = tensor.collapse_shape %w [] : tensor<1xf64> into tensor<f64>
  %1 = math.exp %0 : tensor<f64>
  %e = tensor.empty() : tensor<8xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(l) -> (l)>, affine_map<(l) -> ()>, affine_map<(l) -> (l)>],
      iterator_types = ["parallel"]} ins(%x, %1 : tensor<8xf64>, tensor<f64>) outs(%e : tensor<8xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %p = arith.mulf %a, %b : f64
    linalg.yield %p : f64
  } -> tensor<8xf64>
  %2 = tensor.expand_shape %1 [] output_shape [1] : tensor<f64> into tensor<1xf64>
  return %y, %2 : tensor<8xf64>, tensor<1xf64>
}
