// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @positions
// CHECK: cp.positions : tensor<64xi64>
// CHECK: cp.positions : tensor<?xi64>
func.func @positions() {
  %0 = cp.positions : tensor<64xi64>
  %1 = cp.positions : tensor<?xi64>
  return
}

// CHECK-LABEL: @cut
// CHECK: cp.cut_positions over ["cp"] of #mesh : tensor<16xi64>
// CHECK: cp.cut_positions over ["cp" striped : 2, "dp" zigzag] of #mesh : tensor<16xi64>
func.func @cut() attributes {cp.view = "local"} {
  %0 = cp.cut_positions over ["cp"] of #mesh : tensor<16xi64>
  %1 = cp.cut_positions over ["cp" striped : 2, "dp" zigzag] of #mesh
      : tensor<16xi64>
  return
}

// CHECK-LABEL: @rotary
// CHECK: cp.rotary %{{.*}} positions(%{{.*}}) : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf32>
// CHECK: cp.rotary %{{.*}} positions(%{{.*}}) {dims = 4 : i64, theta = 5.000000e+02 : f64} : (tensor<1x?x2x?xbf16>, tensor<?xi64>) -> tensor<1x?x2x?xbf16>
func.func @rotary(%x: tensor<1x16x2x8xf32>, %p: tensor<16xi64>,
                  %y: tensor<1x?x2x?xbf16>, %q: tensor<?xi64>) {
  %0 = cp.rotary %x positions(%p)
      : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf32>
  %1 = cp.rotary %y positions(%q) {dims = 4, theta = 500.0}
      : (tensor<1x?x2x?xbf16>, tensor<?xi64>) -> tensor<1x?x2x?xbf16>
  return
}

// CHECK-LABEL: @rotary_of_batch
// CHECK: cp.rotary %{{.*}} positions(%{{.*}}) : (tensor<2x16x2x8xf32>, tensor<2x16xi64>) -> tensor<2x16x2x8xf32>
func.func @rotary_of_batch(%x: tensor<2x16x2x8xf32>, %p: tensor<2x16xi64>) {
  %0 = cp.rotary %x positions(%p)
      : (tensor<2x16x2x8xf32>, tensor<2x16xi64>) -> tensor<2x16x2x8xf32>
  return
}
