// RUN: %cp-opt %s | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --mlir-print-op-generic | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --cse --canonicalize | FileCheck %s --check-prefix=DEAD

// CHECK-LABEL: func.func @norm
// CHECK:         cp.squared_norm %{{.*}} : tensor<8x4xbf16> -> tensor<f64>
// CHECK:         cp.squared_norm %{{.*}} : tensor<f64> -> tensor<f64>
// CHECK:         cp.sum %{{.*}}, %{{.*}} : tensor<f64>
// DEAD-LABEL:  func.func @norm
// DEAD-COUNT-2:  cp.squared_norm
// DEAD-NOT:      cp.squared_norm
func.func @norm(%a: tensor<8x4xbf16>, %b: tensor<f64>) -> tensor<f64> {
  %0 = cp.squared_norm %a : tensor<8x4xbf16> -> tensor<f64>
  %1 = cp.squared_norm %b : tensor<f64> -> tensor<f64>
  %2 = cp.squared_norm %b : tensor<f64> -> tensor<f64>
  %3 = cp.sum %0, %1, %2 : tensor<f64>
  return %3 : tensor<f64>
}

// CHECK-LABEL: func.func @sgd
// CHECK:         cp.sgd %{{.*}} by %{{.*}} rate(%{{.*}}) scale(%{{.*}}) :
// CHECK:         cp.sgd %{{.*}} by %{{.*}} rate(%{{.*}}) scale(%{{.*}}) {weight_decay = 1.000000e-01 : f64} :
// CHECK-SAME:      -> (tensor<4xf32>, tensor<4xbf16>)
func.func @sgd(%w: tensor<4xf32>, %g: tensor<4xf32>, %rate: tensor<f64>,
               %scale: tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>) {
  %0 = cp.sgd %w by %g rate(%rate) scale(%scale)
      : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  %1, %2 = cp.sgd %w by %g rate(%rate) scale(%scale) {weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xbf16>)
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>
}

// A step that nobody takes goes.
// CHECK-LABEL: func.func @adamw
// CHECK:         cp.adamw %{{.*}} by %{{.*}} moments(%{{.*}}, %{{.*}}) rate(%{{.*}}) step(%{{.*}}) scale(%{{.*}}) {beta1 = 8.000000e-01 : f64} :
// CHECK:         cp.adamw
// DEAD-LABEL:  func.func @adamw
// DEAD-COUNT-1:  cp.adamw
// DEAD-NOT:      cp.adamw
func.func @adamw(%w: tensor<4xf64>, %g: tensor<4xf64>, %m: tensor<4xf64>,
                 %v: tensor<4xf64>, %rate: tensor<f64>, %step: tensor<i64>,
                 %scale: tensor<f64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %0:3 = cp.adamw %w by %g moments(%m, %v) rate(%rate) step(%step) scale(%scale) {beta1 = 0.8}
      : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<f64>, tensor<i64>, tensor<f64>)
      -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
  %1:3 = cp.adamw %w by %g moments(%m, %v) rate(%rate) step(%step) scale(%scale)
      : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<f64>, tensor<i64>, tensor<f64>)
      -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
  return %0#0, %0#1, %0#2 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

// CHECK-LABEL: func.func @accumulate
// CHECK:         cp.accumulate %{{.*}} into %{{.*}} at(%{{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
// DEAD-LABEL:  func.func @accumulate
// DEAD-COUNT-1:  cp.accumulate
// DEAD-NOT:      cp.accumulate
func.func @accumulate(%s: tensor<4xf32>, %g: tensor<4xf32>, %i: tensor<i64>)
    -> tensor<4xf32> {
  %0 = cp.accumulate %g into %s at(%i)
      : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  %1 = cp.accumulate %s into %s at(%i)
      : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
