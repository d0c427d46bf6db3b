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
// CHECK: %[[R:.*]]:2 = cp.call "f" ins(%[[X]] : tensor<4xf32>) outs(%[[X]], %[[Y]] : tensor<4xf32>, tensor<i64>) {integer = -1 : i64, float = 5.000000e-01 : f64, array = array<i64: 1, 2>, none = array<i64>} -> tensor<4xf32>, tensor<i64>
func.func @tensors(%x: tensor<4xf32>, %y: tensor<i64>) {
  %0:2 = cp.call "f" ins(%x : tensor<4xf32>)
      outs(%x, %y : tensor<4xf32>, tensor<i64>)
      {integer = -1 : i64, float = 0.5 : f64, array = array<i64: 1, 2>,
       none = array<i64>}
      -> tensor<4xf32>, tensor<i64>
  return
}

// CHECK-LABEL: @nothing_read
// CHECK: {{^}}    cp.call "f" outs(%{{.*}} : memref<?xi1>) {}{{$}}
func.func @nothing_read(%x: memref<?xi1>) {
  cp.call "f" outs(%x : memref<?xi1>) {}
  return
}

// Attributes keep their order, and inputs that are left out their places.
// CHECK-LABEL: @left_out
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK: cp.call "f" ins(none, %[[X]], none, none, %[[Y]] : memref<4xf32>, memref<8xf32>) outs(%[[X]] : memref<4xf32>) {z = true, "a b" = 1 : i64, c = 2.000000e+00 : f64}{{$}}
// CHECK: cp.call "f" ins(none) outs(%[[X]] : memref<4xf32>) {}{{$}}
func.func @left_out(%x: memref<4xf32>, %y: memref<8xf32>) {
  cp.call "f" ins(none, %x, none, none, %y : memref<4xf32>, memref<8xf32>)
      outs(%x : memref<4xf32>) {z = true, "a b" = 1 : i64, c = 2.0 : f64}
  cp.call "f" ins(none) outs(%x : memref<4xf32>) {}
  return
}

// The call's own attributes come before the attributes of the op.
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

// CHECK-LABEL: @deferred
// CHECK: cp.call "f" elementwise deferred ins(%[[X:.*]] : memref<4xf32>) outs(%[[Y:.*]] : memref<4xf32>) {}{{$}}
// CHECK: cp.wait ins(%[[X]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>){{$}}
// CHECK: cp.wait outs(%[[Y]] : memref<4xf32>) {test.a}{{$}}
func.func @deferred(%x: memref<4xf32>, %y: memref<4xf32>) {
  cp.call "f" elementwise deferred ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {}
  cp.wait ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  cp.wait outs(%y : memref<4xf32>) {test.a}
  return
}
