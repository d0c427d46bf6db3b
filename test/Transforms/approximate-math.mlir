// RUN: %cp-opt %s --cp-approximate-math | FileCheck %s

// In f32 no call of a library is left, and nothing but arithmetic comes; what
// has no approximation as good as the library's stays.

// CHECK-LABEL: func.func @scalar(
// CHECK-NOT:     math.exp
// CHECK:         math.fma
// CHECK:         arith.bitcast %{{.*}} : i32 to f32
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @others(
// CHECK-NEXT:    math.exp %{{.*}} : f64
// CHECK-NEXT:    math.exp %{{.*}} : bf16
// CHECK-NEXT:    math.sin %{{.*}} : f32
// CHECK-NEXT:    math.tanh %{{.*}} : f32
func.func @others(%x: f64, %n: bf16, %y: f32) -> (f64, bf16, f32, f32) {
  %0 = math.exp %x : f64
  %1 = math.exp %n : bf16
  %2 = math.sin %y : f32
  %3 = math.tanh %y : f32
  return %0, %1, %2, %3 : f64, bf16, f32, f32
}

// Tensors are no loops yet.
// CHECK-LABEL: func.func @tensors(
// CHECK-NEXT:    math.exp %{{.*}} : tensor<2x16xf32>
// CHECK-NOT:     math.exp
// CHECK:         math.fma
func.func @tensors(%x: tensor<2x16xf32>, %y: f32) -> (tensor<2x16xf32>, f32) {
  %0 = math.exp %x : tensor<2x16xf32>
  %1 = math.exp %y : f32
  return %0, %1 : tensor<2x16xf32>, f32
}
