// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @narrow
// CHECK: cp.embedding %{{.*}} in %{{.*}} : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
func.func @narrow(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>) {
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
  return
}

// CHECK-LABEL: @wide
// CHECK: cp.embedding %{{.*}} in %{{.*}} : (tensor<?x16xi64>, tensor<96x8xbf16>) -> tensor<?x16x8xbf16>
func.func @wide(%ids: tensor<?x16xi64>, %table: tensor<96x8xbf16>) {
  %0 = cp.embedding %ids in %table
      : (tensor<?x16xi64>, tensor<96x8xbf16>) -> tensor<?x16x8xbf16>
  return
}

// CHECK-LABEL: @padded
// CHECK: cp.embedding %{{.*}} in %{{.*}} {padding_idx = 0 : i64}
func.func @padded(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>) {
  %0 = cp.embedding %ids in %table {padding_idx = 0}
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
  return
}
