// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @one
// CHECK: cp.halo %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {before = 3 : i64, dim = 1 : i64} : (tensor<1x16x24xf32>) -> tensor<1x3x24xf32>
func.func @one(%x: tensor<1x16x24xf32>) {
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 3}
      : (tensor<1x16x24xf32>) -> tensor<1x3x24xf32>
  return
}

// CHECK-LABEL: @initial
// CHECK-SAME: (%[[X:.*]]: tensor<3x24xf32>, %[[Y:.*]]: tensor<4xbf16>, %[[I:.*]]: tensor<3x24xf32>, %[[J:.*]]: tensor<3xbf16>)
// CHECK: cp.halo %[[X]], %[[Y]] initial(%[[I]], %[[J]]) over ["dp", "cp"] of
func.func @initial(%x: tensor<3x24xf32>, %y: tensor<4xbf16>,
                   %i: tensor<3x24xf32>, %j: tensor<3xbf16>) {
  %0:2 = cp.halo %x, %y initial(%i, %j) over ["dp", "cp"] of #mesh
      {dim = 0, before = 3}
      : (tensor<3x24xf32>, tensor<4xbf16>, tensor<3x24xf32>, tensor<3xbf16>)
      -> (tensor<3x24xf32>, tensor<3xbf16>)
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.halo {{.*}} : (tensor<?x?xf32>) -> tensor<3x?xf32>
func.func @dynamic(%x: tensor<?x?xf32>) {
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<?x?xf32>) -> tensor<3x?xf32>
  return
}

// CHECK-LABEL: @zigzag
// CHECK: cp.halo %{{.*}}, %{{.*}} initial(%{{.*}}, %{{.*}}) over ["cp" zigzag] of #{{[a-z0-9]+}} {before = 2 : i64, dim = 0 : i64} : (tensor<6x8xf32>, tensor<4xf32>, tensor<2x8xf32>, tensor<2xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
func.func @zigzag(%x: tensor<6x8xf32>, %y: tensor<4xf32>, %i: tensor<2x8xf32>,
                  %j: tensor<2xf32>) {
  %0:2 = cp.halo %x, %y initial(%i, %j) over ["cp" zigzag] of #mesh
      {dim = 0, before = 2}
      : (tensor<6x8xf32>, tensor<4xf32>, tensor<2x8xf32>, tensor<2xf32>)
      -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// The default is not printed.
// CHECK-LABEL: @contiguous
// CHECK: cp.halo %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {before = 2 : i64, dim = 0 : i64} :
func.func @contiguous(%x: tensor<6x8xf32>) {
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 2}
      : (tensor<6x8xf32>) -> tensor<2x8xf32>
  return
}

// Farther than the neighbour's four rows, and behind.
// CHECK-LABEL: @after
// CHECK: cp.halo %{{.*}} initial(%{{.*}}) over ["cp"] of #{{[a-z0-9]+}} {after = 9 : i64, dim = 0 : i64} : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
func.func @after(%x: tensor<4x8xf32>, %i: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %0 = cp.halo %x initial(%i) over ["cp"] of #mesh {dim = 0, after = 9}
      : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
