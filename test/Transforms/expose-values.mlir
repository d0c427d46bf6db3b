// RUN: %cp-opt %s --cp-number-values | FileCheck %s --check-prefix=NUMBER
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden expose" | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden" | FileCheck %s --check-prefix=PLAIN

// What is used is returned, in the layout that it has; constants, changes of
// shape and what nobody uses are not. Numbers do not stay.

// NUMBER:      arith.constant dense<1.000000e+00>
// NUMBER-NEXT: arith.addf {{.*}} {cp.number = 0 : i64}
// NUMBER-NEXT: cp.conv1d {{.*}} {cp.number = 1 : i64}
// NUMBER-NEXT: tensor.expand_shape
// NUMBER-NOT:  cp.number
// NUMBER:      math.exp {{.*}} {cp.number = 2 : i64}
// NUMBER:      math.absf {{.*}} {cp.number = 3 : i64}

// PLAIN-NOT: cp.value
// PLAIN-NOT: cp.number

// CHECK:       #[[$HEADS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}, {}]>
// CHECK:       #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK:       #[[$CHANNELS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    -> (tensor<1x16x3x2xf32> {cp.layout = #[[$HEADS]]},
// CHECK-SAME:    tensor<1x4x24xf32> {cp.layout = #[[$ROWS]], cp.value = {layer = "embedding", location = "{{.*}}expose-values.mlir:[[@LINE+12]]:8", number = 0 : i64, op = "arith.addf", result = 0 : i64}},
// CHECK-SAME:    tensor<1x16x6xf32> {cp.layout = #[[$CHANNELS]], cp.value = {layer = "2", {{.*}} number = 1 : i64, op = "cp.conv1d", result = 0 : i64}},
// CHECK-SAME:    tensor<1x16x3x2xf32> {cp.layout = #[[$HEADS]], cp.value = {layer = "2", {{.*}} number = 2 : i64, op = "math.exp", result = 0 : i64}})
// CHECK-NOT:   cp.number
// CHECK:       %[[A:.*]] = arith.addf
// CHECK-NEXT:  %[[X:.*]] = cp.all_to_all %[[A]]
// CHECK-NEXT:  %[[C:.*]] = cp.conv1d %[[X]]
// CHECK:       %[[E:.*]] = math.exp
// CHECK-NEXT:  return %[[E]], %[[A]], %[[C]], %[[E]] :
func.func @main(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64},
    %w: tensor<24x4xf32> {cp.param = "layers.2.conv"}) -> tensor<1x16x12x2xf32> {
  %one = arith.constant dense<1.0> : tensor<1x16x24xf32>
  %0 = arith.addf %x, %one : tensor<1x16x24xf32>
  %1 = cp.conv1d %0 weight(%w)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
  %2 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [1, 16, 12, 2]
      : tensor<1x16x24xf32> into tensor<1x16x12x2xf32>
  %3 = math.exp %2 : tensor<1x16x12x2xf32>
  %dead = math.absf %3 : tensor<1x16x12x2xf32>
  return %3 : tensor<1x16x12x2xf32>
}
