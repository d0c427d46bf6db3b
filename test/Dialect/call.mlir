// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @buffers
// CHECK: cp.call "matmul" ins(%{{.*}}, %{{.*}} : memref<4x8xf32>, memref<16x8xf32>) outs(%{{.*}} : memref<4x16xf32>) {accumulate = true, transpose_b = true}{{$}}
func.func @buffers(%x: memref<4x8xf32>, %w: memref<16x8xf32>,
                   %y: memref<4x16xf32>) {
  cp.call "matmul" ins(%x, %w : memref<4x8xf32>, memref<16x8xf32>)
      outs(%y : memref<4x16xf32>) {accumulate = true, transpose_b = true}
  return
}

// CHECK-LABEL: @tensors
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<i64>)
// CHECK: %[[R:.*]]:2 = cp.call "f" ins(%[[X]] : tensor<4xf32>) outs(%[[X]], %[[Y]] : tensor<4xf32>, tensor<i64>) {array = array<i64: 1, 2>, float = 5.000000e-01 : f64, integer = -1 : i64, none = array<i64>} -> tensor<4xf32>, tensor<i64>
func.func @tensors(%x: tensor<4xf32>, %y: tensor<i64>) {
  %0:2 = cp.call "f" ins(%x : tensor<4xf32>)
      outs(%x, %y : tensor<4xf32>, tensor<i64>)
      {integer = -1 : i64, float = 0.5 : f64, array = array<i64: 1, 2>,
       none = array<i64>}
      -> tensor<4xf32>, tensor<i64>
  return
}

// CHECK-LABEL: @nothing_read
// CHECK: cp.call "f" outs(%{{.*}} : memref<?xi1>) {}{{$}}
func.func @nothing_read(%x: memref<?xi1>) {
  cp.call "f" outs(%x : memref<?xi1>) {}
  return
}

// The call's own dictionary comes before the attributes of the op.
// CHECK-LABEL: @discardable
// CHECK: cp.call "f" outs(%{{.*}} : memref<1xf32>) {a = 1 : i64} {test.b = 2 : i64}{{$}}
func.func @discardable(%x: memref<1xf32>) {
  cp.call "f" outs(%x : memref<1xf32>) {a = 1 : i64} {test.b = 2 : i64}
  return
}

// CHECK-LABEL: @with_function
// CHECK: cp.call "f" with "g" ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4xf32>) {}{{$}}
func.func @with_function(%x: memref<4xf32>, %y: memref<4xf32>) {
  cp.call "f" with "g" ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {}
  return
}
