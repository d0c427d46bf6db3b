// RUN: %cp-opt %s --pass-pipeline='builtin.module(func.func(cp-differentiate{wrt=w cotangents}))' \
// RUN:   | FileCheck %s

// A convolution and a scan have adjoints of their own, and those read what the
// forward pass has made. Only what is asked for is derived.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<1x16x2x8xf32> {cp.cotangent = "y", cp.name = "y.cotangent", cp.sequence = 1 : i64})
// CHECK: %[[X:.*]] = cp.conv1d
// CHECK: cp.ssd
// CHECK-NOT: cp.rotary
// CHECK: cp.ssd_grad {{.*}} from %[[DY]]
// CHECK: %[[DX:.*]], %[[DW:[a-z0-9_]+]], %{{.*}}, %{{.*}} = cp.conv1d_grad
// CHECK: return %{{.*}}, %[[DW]]
func.func @main(%x: tensor<1x16x16xf32>, %w: tensor<16x4xf32> {cp.name = "w"},
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>)
    -> (tensor<1x16x2x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x16xf32>, tensor<16x4xf32>) -> tensor<1x16x16xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 16, 2, 8]
      : tensor<1x16x16xf32> into tensor<1x16x2x8xf32>
  %y, %state = cp.ssd %1 dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return %y : tensor<1x16x2x8xf32>
}

// The row of the padding token is looked up, but gets nothing back.
// CHECK-LABEL: func.func @padded(
// CHECK: %[[D:.*]] = cp.embedding_grad
// CHECK: %[[T:.*]] = tensor.insert_slice %{{.*}} into %[[D]][3, 0] [1, 4] [1, 1]
// CHECK: return %{{.*}}, %[[T]]
func.func @padded(%ids: tensor<1x8xi32>, %w: tensor<9x4xf32> {cp.name = "w"})
    -> (tensor<1x8x4xf32> {cp.name = "y"}) {
  %0 = cp.embedding %ids in %w {padding_idx = 3}
      : (tensor<1x8xi32>, tensor<9x4xf32>) -> tensor<1x8x4xf32>
  return %0 : tensor<1x8x4xf32>
}

// How an op says that it is cut its gradient op is cut.
// CHECK-LABEL: func.func @strategies(
// CHECK: cp.attention_grad {{.*}} {form = "gather"}
// CHECK: cp.conv1d_grad {{.*}} {strategy = "sequence"}
func.func @strategies(%x: tensor<1x8x4xf32>, %w: tensor<4x2xf32> {cp.name = "w"})
    -> (tensor<1x8x2x2xf32> {cp.name = "y"}) {
  %0 = cp.conv1d %x weight(%w) {strategy = "sequence"}
      : (tensor<1x8x4xf32>, tensor<4x2xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 8, 2, 2]
      : tensor<1x8x4xf32> into tensor<1x8x2x2xf32>
  %y, %lse = cp.attention %q, %q, %q {form = "gather"}
      : (tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>)
      -> (tensor<1x8x2x2xf32>, tensor<1x2x8xf32>)
  return %y : tensor<1x8x2x2xf32>
}
