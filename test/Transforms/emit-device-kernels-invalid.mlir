// RUN: not %cp-opt %s --split-input-file --cp-emit-device-kernels 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op holds more than one structured op, or none; run cp-outline-kernels first
func.func private @two(%y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<3xf32>)
  linalg.fill ins(%zero : f32) outs(%y : memref<3xf32>)
  return
}

// -----

// CHECK: error: 'func.func' op holds more than one structured op, or none; run cp-outline-kernels first
func.func private @none(%y: memref<3xf32>) {
  return
}
