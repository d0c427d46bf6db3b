// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @chain
// CHECK: cp.scan_state %{{.*}}, %{{.*}} over ["cp"] of #{{[a-z0-9]+}} : tensor<1x2xf32>, tensor<1x2x8x4xf32>
func.func @chain(%d: tensor<1x2xf32>, %s: tensor<1x2x8x4xf32>) {
  // The default is not printed.
  %decay, %state = cp.scan_state %d, %s over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<chain>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  return
}

// CHECK-LABEL: @gather
// CHECK: cp.scan_state %{{.*}}, %{{.*}} over ["cp", "dp"] of #{{[a-z0-9]+}} {algorithm = #cp.scan_algorithm<gather>} : tensor<f64>, tensor<?xf64>
func.func @gather(%d: tensor<f64>, %s: tensor<?xf64>) {
  %decay, %state = cp.scan_state %d, %s over ["cp", "dp"] of #mesh
      {algorithm = #cp.scan_algorithm<gather>} : tensor<f64>, tensor<?xf64>
  return
}

// CHECK-LABEL: @zigzag
// CHECK: cp.scan_state %{{.*}}, %{{.*}} over ["cp" zigzag] of #{{[a-z0-9]+}} {algorithm = #cp.scan_algorithm<doubling>} : tensor<4x2xf32>, tensor<4x2x8xf32>
func.func @zigzag(%d: tensor<4x2xf32>, %s: tensor<4x2x8xf32>) {
  %0:2 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      {algorithm = #cp.scan_algorithm<doubling>}
      : tensor<4x2xf32>, tensor<4x2x8xf32>
  return
}

// CHECK-LABEL: @zigzag_dynamic
// CHECK: over ["cp" zigzag] of #{{[a-z0-9]+}} : tensor<?xf32>, tensor<?x8xf32>
func.func @zigzag_dynamic(%d: tensor<?xf32>, %s: tensor<?x8xf32>) {
  %0:2 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<?xf32>, tensor<?x8xf32>
  return
}

// CHECK-LABEL: @reverse
// CHECK: cp.scan_state %{{.*}}, %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {reverse} : tensor<2xf32>, tensor<2x8xf32>
func.func @reverse(%d: tensor<2xf32>, %s: tensor<2x8xf32>) {
  %0:2 = cp.scan_state %d, %s over ["cp"] of #mesh {reverse}
      : tensor<2xf32>, tensor<2x8xf32>
  return
}

// CHECK-LABEL: @total
// CHECK: %{{.*}}, %{{.*}}, %total:2 = cp.scan_state %{{.*}}, %{{.*}} over ["cp" zigzag] of #{{[a-z0-9]+}} : tensor<4x2xf32>, tensor<4x2x8xf32> total tensor<2x2xf32>, tensor<2x2x8xf32>
func.func @total(%d: tensor<4x2xf32>, %s: tensor<4x2x8xf32>) {
  %0:4 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<4x2xf32>, tensor<4x2x8xf32>
      total tensor<2x2xf32>, tensor<2x2x8xf32>
  return
}

// CHECK-LABEL: @combine
// CHECK: %prefix:3, %total:3 = cp.scan_state %{{.*}}, %{{.*}}, %{{.*}} over ["cp" zigzag] of #{{[a-z0-9]+}} {combine = #cp.combine<"delta_combine", batch_dims = 2>} : tensor<4x2x8x8xf32>, tensor<4x2x8x5xf32>, tensor<4x2xf32> total tensor<2x2x8x8xf32>, tensor<2x2x8x5xf32>, tensor<2x2xf32>
func.func @combine(%a: tensor<4x2x8x8xf32>, %s: tensor<4x2x8x5xf32>,
                   %n: tensor<4x2xf32>) {
  %0:6 = cp.scan_state %a, %s, %n over ["cp" zigzag] of #mesh
      {combine = #cp.combine<"delta_combine", batch_dims = 2>}
      : tensor<4x2x8x8xf32>, tensor<4x2x8x5xf32>, tensor<4x2xf32>
      total tensor<2x2x8x8xf32>, tensor<2x2x8x5xf32>, tensor<2x2xf32>
  return
}

// One unit has no dimension of its own.
// CHECK-LABEL: @combine_one_unit
// CHECK: %prefix = cp.scan_state %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {combine = #cp.combine<"f", batch_dims = 0>} : tensor<8xbf16>
func.func @combine_one_unit(%a: tensor<8xbf16>) {
  %0 = cp.scan_state %a over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 0>} : tensor<8xbf16>
  return
}
