// RUN: %cp-opt %s --cp-outline-kernels | FileCheck %s

// An op that has a buffer twice shares its kernel with one that has two: its
// operands count by number. Names are those that nobody has.

// CHECK-LABEL: func.func @cp_kernel_0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>, %[[Z:[a-z0-9]+]]: memref<4xf32>)
// CHECK-NEXT:    call @cp_kernel_1(%[[X]], %[[X]], %[[Z]])
// CHECK-NEXT:    call @cp_kernel_1(%[[X]], %[[Y]], %[[Z]])
// CHECK:       func.func private @cp_kernel_1(%[[A:[a-z0-9]+]]: memref<4xf32>, %[[B:[a-z0-9]+]]: memref<4xf32>, %[[C:[a-z0-9]+]]: memref<4xf32>)
// CHECK-NEXT:    linalg.mul ins(%[[A]], %[[B]] : memref<4xf32>, memref<4xf32>) outs(%[[C]] : memref<4xf32>)
func.func @cp_kernel_0(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  linalg.mul ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%z : memref<4xf32>)
  linalg.mul ins(%x, %y : memref<4xf32>, memref<4xf32>) outs(%z : memref<4xf32>)
  return
}
