// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=2 order=striped" --split-input-file --verify-diagnostics | FileCheck %s

// A scan runs on contiguous rows; the result that says which of its dimensions is the
// sequence lies as the argument does all the same.

// CHECK: #[[$STRIPED:.*]] = #cp.layout<#mesh, [{}, {"cp" striped}, {}]>
// CHECK-LABEL: func.func @scan(
// CHECK-SAME:    %{{.*}}: tensor<1x16x4xf32, #[[$STRIPED]]>
// CHECK-SAME:    -> (tensor<1x16x4xf32, #[[$STRIPED]]> {cp.sequence = 1 : i64})
func.func @scan(%x: tensor<1x16x4xf32> {cp.sequence = 1 : i64},
    %w: tensor<4x3xf32> {cp.param = "w"})
    -> (tensor<1x16x4xf32> {cp.sequence = 1 : i64}) {
  %y = cp.conv1d %x weight(%w) : (tensor<1x16x4xf32>, tensor<4x3xf32>) -> tensor<1x16x4xf32>
  return %y : tensor<1x16x4xf32>
}

// -----

// expected-error @below {{assign_c9: result 0 cannot be cut as its cp.sequence says: it must be below 3, but is 3}}
func.func @assign_c9(%x: tensor<1x16x4xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x16x4xf32> {cp.sequence = 3 : i64}) {
  return %x : tensor<1x16x4xf32>
}

// -----

// expected-error @below {{assign_c9: result 0 cannot be cut as its cp.sequence says: }}
func.func @divides(%x: tensor<1x16x3xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x16x3xf32> {cp.sequence = 2 : i64}) {
  return %x : tensor<1x16x3xf32>
}
