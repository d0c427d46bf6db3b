// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @runs
// CHECK: cp.repeat %{{.*}} {dim = 2 : i64, times = 2 : i64, unit = 4 : i64} : tensor<1x16x8xf32> -> tensor<1x16x16xf32>
func.func @runs(%b: tensor<1x16x8xf32>) {
  %0 = cp.repeat %b {dim = 2, unit = 4, times = 2}
      : tensor<1x16x8xf32> -> tensor<1x16x16xf32>
  return
}

// CHECK-LABEL: @empty
// CHECK: cp.repeat %{{.*}} {{.*}} : tensor<0xi1> -> tensor<0xi1>
func.func @empty(%b: tensor<0xi1>) {
  %0 = cp.repeat %b {dim = 0, unit = 9223372036854775807, times = 9223372036854775807}
      : tensor<0xi1> -> tensor<0xi1>
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.repeat %{{.*}} {{.*}} : tensor<?xf32> -> tensor<?xf32>
func.func @dynamic(%b: tensor<?xf32>) {
  %0 = cp.repeat %b {dim = 0, unit = 3, times = 5} : tensor<?xf32> -> tensor<?xf32>
  return
}
