// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// The collectives that change one dimension, cp.slice and cp.unslice.

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @all_gather
func.func @all_gather(%x: tensor<2x8xi1>, %y: tensor<?xf32>) {
  // CHECK: cp.all_gather %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 1 : i64} : tensor<2x8xi1> -> tensor<2x32xi1>
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
      : tensor<2x8xi1> -> tensor<2x32xi1>
  // CHECK: cp.all_gather %{{.*}} over ["cp", "dp"] of #{{[a-z0-9]+}} {dim = 1 : i64}
  %1 = cp.all_gather %x over ["cp" contiguous, "dp" : 1] of #mesh {dim = 1}
      : tensor<2x8xi1> -> tensor<2x64xi1>
  // CHECK: cp.all_gather {{.*}} : tensor<?xf32> -> tensor<?xf32>
  %2 = cp.all_gather %y over ["cp"] of #mesh {dim = 0}
      : tensor<?xf32> -> tensor<?xf32>
  return
}

// CHECK-LABEL: @slice
func.func @slice(%x: tensor<2x8xf32>, %y: tensor<?xf32>, %z: tensor<0xf32>) {
  // CHECK: cp.slice %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 1 : i64} : tensor<2x8xf32> -> tensor<2x2xf32>
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 1}
      : tensor<2x8xf32> -> tensor<2x2xf32>
  // CHECK: cp.slice %{{.*}} over ["dp" zigzag] of #{{[a-z0-9]+}} {dim = 1 : i64}
  %1 = cp.slice %x over ["dp" zigzag] of #mesh {dim = 1}
      : tensor<2x8xf32> -> tensor<2x4xf32>
  // CHECK: cp.slice {{.*}} : tensor<?xf32> -> tensor<?xf32>
  %2 = cp.slice %y over ["cp"] of #mesh {dim = 0}
      : tensor<?xf32> -> tensor<?xf32>
  // CHECK: cp.slice {{.*}} : tensor<0xf32> -> tensor<0xf32>
  %3 = cp.slice %z over ["cp"] of #mesh {dim = 0}
      : tensor<0xf32> -> tensor<0xf32>
  return
}

// CHECK-LABEL: @reduce_scatter
func.func @reduce_scatter(%x: tensor<2x8xf32>) {
  // CHECK: cp.reduce_scatter %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 1 : i64} : tensor<2x8xf32> -> tensor<2x2xf32>
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 1}
      : tensor<2x8xf32> -> tensor<2x2xf32>
  // CHECK: cp.reduce_scatter %{{.*}} over ["dp" zigzag] of #{{[a-z0-9]+}} {dim = 1 : i64}
  %1 = cp.reduce_scatter %x over ["dp" zigzag] of #mesh {dim = 1}
      : tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @unslice
func.func @unslice(%x: tensor<2x2xf32>, %y: tensor<?xbf16>) {
  // CHECK: cp.unslice %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 1 : i64} : tensor<2x2xf32> -> tensor<2x8xf32>
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = 1}
      : tensor<2x2xf32> -> tensor<2x8xf32>
  // CHECK: cp.unslice %{{.*}} over ["dp" zigzag] of #{{[a-z0-9]+}} {dim = 1 : i64}
  %1 = cp.unslice %x over ["dp" zigzag] of #mesh {dim = 1}
      : tensor<2x2xf32> -> tensor<2x4xf32>
  // CHECK: cp.unslice {{.*}} : tensor<?xbf16> -> tensor<?xbf16>
  %2 = cp.unslice %y over ["cp"] of #mesh {dim = 0}
      : tensor<?xbf16> -> tensor<?xbf16>
  return
}

// CHECK-LABEL: @scaled_by_hand
func.func @scaled_by_hand(%x: tensor<8xf32>) {
  // CHECK: cp.all_gather %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 0 : i64, grad_scale = "up"} : tensor<8xf32> -> tensor<32xf32>
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0, grad_scale = "up"}
      : tensor<8xf32> -> tensor<32xf32>
  // CHECK: cp.slice %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {dim = 0 : i64, grad_scale = "down"} : tensor<32xf32> -> tensor<8xf32>
  %1 = cp.slice %0 over ["cp"] of #mesh {dim = 0, grad_scale = "down"}
      : tensor<32xf32> -> tensor<8xf32>
  // CHECK: {dim = 0 : i64, grad_scale = "none"}
  %2 = cp.slice %0 over ["cp"] of #mesh {dim = 0, grad_scale = "none"}
      : tensor<32xf32> -> tensor<8xf32>
  return
}
