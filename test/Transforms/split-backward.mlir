// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 gradients=loss split" | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 gradients=loss differentiate=local split" | FileCheck %s --check-prefix=LOCAL
// RUN: %cp-opt %s --cp-differentiate --cp-split-backward | FileCheck %s --check-prefix=WHOLE
// RUN: not %cp-opt %s --cp-split-backward 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %cp-opt %s --cp-differentiate --cp-assign-layouts="mesh=cp=2" --cp-split-backward 2>&1 | FileCheck %s --check-prefix=LAYOUTS

// The forward function keeps what the backward one reads: a rank's own, and the
// scalar as one element. Weights are arguments of both, if both read them; what
// costs nothing is made again.

// CHECK-LABEL: func.func @main_forward(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK-SAME:      %[[W:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME:      -> (tensor<f32> {{{.*}}cp.name = "loss"}
// CHECK-SAME:      tensor<4x3xf32> {cp.layout = #layout{{[0-9]*}}, cp.name = "residual{{[01]}}", cp.residual}
// CHECK-SAME:      attributes {cp.view = "local"}
// CHECK:         math.exp
// CHECK:         cp.all_reduce
// CHECK:         tensor.expand_shape %{{.*}} [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK-LABEL: func.func @main_backward(
// CHECK-SAME:      tensor<1xf32> {{{.*}}cp.name = "residual
// CHECK-SAME:      -> (tensor<3xf32> {cp.gradient = "w"
// CHECK-NOT:     math.exp
// CHECK:         tensor.collapse_shape %{{.*}} [] : tensor<1xf32> into tensor<f32>
// CHECK:         cp.all_reduce
// CHECK-NOT:     cp.all_reduce

// LOCAL-LABEL: func.func @main_forward(
// LOCAL:         math.exp
// LOCAL-LABEL: func.func @main_backward(
// LOCAL-SAME:      -> (tensor<3xf32> {cp.gradient = "w"
// LOCAL-NOT:     math.exp

// Of whole tensors residuals are as they are.

// WHOLE-LABEL: func.func @main_forward(
// WHOLE-NOT:     cp.layout
// WHOLE-NOT:     tensor.expand_shape
// WHOLE-LABEL: func.func @main_backward(
// WHOLE-SAME:      tensor<f32> {cp.name = "residual

// NONE: error: split_backward_c2: no public function has results with cp.gradient; run cp-differentiate first
// LAYOUTS: error: {{.*}}split_backward_c1: has layouts in its types; run this when it is partitioned

func.func @main(%x: tensor<8x3xf32> {cp.name = "x", cp.sequence = 0 : i64},
    %w: tensor<3xf32> {cp.param = "w"}) -> (tensor<f32> {cp.name = "loss"}) {
  %e = tensor.empty() : tensor<8x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(l, c) -> (l, c)>,
      affine_map<(l, c) -> (c)>, affine_map<(l, c) -> (l, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<8x3xf32>, tensor<3xf32>) outs(%e : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x3xf32>
  %z = math.exp %y : tensor<8x3xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %from = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%z : tensor<8x3xf32>) outs(%from : tensor<f32>)
      dimensions = [0, 1]
      (%in: f32, %acc: f32) {
        %t = arith.addf %in, %acc : f32
        linalg.yield %t : f32
      }
  %loss = math.exp %sum : tensor<f32>
  return %loss : tensor<f32>
}
