// RUN: %cp-opt %s --cp-split-update | FileCheck %s

// A parameter that is rounded from its master is written by the step, which does not
// read it: it is an argument of both programs all the same.
// CHECK-LABEL: func.func @step_accumulate
// CHECK-SAME:    %{{.*}}: tensor<4xbf16> {cp.param = "w"}
// CHECK-SAME:    {cp.accumulates = "w", cp.name = "sum"}
// CHECK-SAME:    -> (tensor<4xf32> {cp.updates = "sum"})
// CHECK:         cp.accumulate
// CHECK-NOT:     cp.sgd
// CHECK-LABEL: func.func @step_update
// CHECK-SAME:    %{{.*}}: tensor<4xbf16> {cp.param = "w"}
// CHECK-SAME:    {cp.name = "master.w", cp.state = "w"}
// CHECK-SAME:    -> (tensor<4xf32> {cp.updates = "master.w"}, tensor<4xbf16> {cp.updates = "w"})
// CHECK:         cp.sgd
func.func @step(
    %w: tensor<4xbf16> {cp.param = "w"}, %x: tensor<4xf32> {cp.name = "x"},
    %master: tensor<4xf32> {cp.name = "master.w", cp.state = "w"},
    %sum: tensor<4xf32> {cp.name = "sum", cp.accumulates = "w"},
    %i: tensor<i64> {cp.name = "micro_batch"}, %rate: tensor<f64> {cp.name = "rate"},
    %scale: tensor<f64> {cp.name = "clip"})
    -> (tensor<4xf32> {cp.updates = "sum"}, tensor<4xf32> {cp.updates = "master.w"},
        tensor<4xbf16> {cp.updates = "w"}) {
  %wide = arith.extf %w : tensor<4xbf16> to tensor<4xf32>
  %g = arith.mulf %wide, %x : tensor<4xf32>
  %0 = cp.accumulate %g into %sum at(%i)
      : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  %1, %2 = cp.sgd %master by %0 rate(%rate) scale(%scale)
      : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xbf16>)
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>
}
