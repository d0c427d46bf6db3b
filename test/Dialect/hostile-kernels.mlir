// RUN: %cp-opt %s --cp-outline-kernels | FileCheck %s

// A body may read constants from outside. Kernels take them along, and those
// with unlike constants are not one.

// CHECK-LABEL: @captured_constants
// CHECK: call @[[TWO:.*]](%
// CHECK: call @[[THREE:.*]](%
// CHECK: func.func private @[[TWO]]
// CHECK: %[[C:.*]] = arith.constant 2.0
// CHECK: linalg.yield %[[C]]
// CHECK: func.func private @[[THREE]]
// CHECK: %[[C:.*]] = arith.constant 3.0
// CHECK: linalg.yield %[[C]]
func.func @captured_constants(%x: memref<8xf32>, %y: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    linalg.yield %two : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]} outs(%y : memref<8xf32>) {
  ^bb0(%a: f32):
    linalg.yield %three : f32
  }
  return
}
