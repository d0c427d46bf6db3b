// RUN: cp-opt %s | cp-opt | FileCheck %s

// CHECK-LABEL: func.func @ids(
// CHECK: cp.shift_tokens %arg0 then %arg1 : tensor<2x16xi32>, tensor<2x1xi32>
func.func @ids(%ids: tensor<2x16xi32>, %none: tensor<2x1xi32>) -> tensor<2x16xi32> {
  %0 = cp.shift_tokens %ids then %none : tensor<2x16xi32>, tensor<2x1xi32>
  return %0 : tensor<2x16xi32>
}

// Any dimensions behind, and another batch.
// CHECK-LABEL: func.func @delay(
// CHECK: cp.shift_tokens %arg0 then %arg1 {delay} : tensor<?x16x4x3xf32>, tensor<?x20x4x3xf32>
func.func @delay(%x: tensor<?x16x4x3xf32>, %before: tensor<?x20x4x3xf32>)
    -> tensor<?x16x4x3xf32> {
  %0 = cp.shift_tokens %x then %before {delay}
      : tensor<?x16x4x3xf32>, tensor<?x20x4x3xf32>
  return %0 : tensor<?x16x4x3xf32>
}
