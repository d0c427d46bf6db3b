// RUN: %cp-opt %s --cp-split-backward | FileCheck %s

// A name that is taken is not given again, and what no caller can hold is made
// again.

// CHECK-LABEL: func.func @names_forward(
// CHECK-SAME:      -> (tensor<4xf64>, tensor<4xf64> {cp.name = "residual1", cp.residual})
// CHECK-LABEL: func.func @names_backward(
// CHECK-SAME:      tensor<4xf64> {cp.name = "residual0"}
// CHECK-SAME:      tensor<4xf64> {cp.name = "residual1", cp.residual}
// CHECK:         arith.cmpf
func.func @names(%x: tensor<4xf64> {cp.name = "residual0"}, %w: tensor<4xf64> {cp.param = "w"})
    -> (tensor<4xf64>, tensor<4xf64> {cp.gradient = "w"}) {
  %0 = math.exp %w : tensor<4xf64>
  %c = arith.cmpf ogt, %0, %w : tensor<4xf64>
  %1 = arith.select %c, %0, %w : tensor<4xi1>, tensor<4xf64>
  %2 = arith.mulf %0, %x : tensor<4xf64>
  %3 = arith.select %c, %2, %x : tensor<4xi1>, tensor<4xf64>
  return %1, %3 : tensor<4xf64>, tensor<4xf64>
}
