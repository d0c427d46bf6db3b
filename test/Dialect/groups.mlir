// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// The collectives whose result has the type of their source.

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%x: tensor<?x8xf32>, %y: tensor<f32>) {
  // CHECK: cp.all_reduce %{{.*}} over ["cp"] of #{{[a-z0-9]+}} : tensor<?x8xf32>
  %0 = cp.all_reduce %x over ["cp"] of #mesh : tensor<?x8xf32>
  // CHECK: cp.all_reduce %{{.*}} over ["dp", "cp"] of #{{[a-z0-9]+}} : tensor<f32>
  %1 = cp.all_reduce %y over ["dp", "cp"] of #mesh : tensor<f32>
  // CHECK: cp.all_reduce %{{.*}}, %{{.*}} over ["cp"] of #{{[a-z0-9]+}} : tensor<?x8xf32>, tensor<f32>
  %2:2 = cp.all_reduce %x, %y over ["cp"] of #mesh : tensor<?x8xf32>, tensor<f32>
  return
}

// CHECK-LABEL: @shift
func.func @shift(%x: tensor<1x2xi32>) {
  // CHECK: cp.shift %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {offset = 1 : i64} : tensor<1x2xi32>
  %0 = cp.shift %x over ["cp"] of #mesh {offset = 1} : tensor<1x2xi32>
  // CHECK: cp.shift %{{.*}} over ["dp"] of #{{[a-z0-9]+}} {offset = -9223372036854775808 : i64}
  %1 = cp.shift %x over ["dp"] of #mesh {offset = -9223372036854775808}
      : tensor<1x2xi32>
  return
}

// CHECK-LABEL: @reorder
func.func @reorder(%x: tensor<1x2xf32>, %y: tensor<?xf32>,
                   %z: tensor<8xf32>) {
  // CHECK: cp.reorder %{{.*}} from ["cp"] to ["cp" zigzag] of #{{[a-z0-9]+}} {dim = 1 : i64} : tensor<1x2xf32>
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x2xf32>
  // CHECK: cp.reorder %{{.*}} from ["cp" zigzag] to ["cp"] of #{{[a-z0-9]+}} {dim = 0 : i64} : tensor<?xf32>
  %1 = cp.reorder %y from ["cp" zigzag] to ["cp"] of #mesh {dim = 0}
      : tensor<?xf32>
  // CHECK: cp.reorder %{{.*}} from ["cp" striped] to ["cp" striped : 4] of #{{[a-z0-9]+}} {dim = 0 : i64} : tensor<8xf32>
  %2 = cp.reorder %z from ["cp" striped] to ["cp" striped : 4] of #mesh
      {dim = 0} : tensor<8xf32>
  // CHECK: cp.reorder %{{.*}} from ["cp" zigzag] to ["cp" striped : 2] of #{{[a-z0-9]+}} {dim = 0 : i64} : tensor<8xf32>
  %3 = cp.reorder %z from ["cp" zigzag] to ["cp" striped : 2] of #mesh
      {dim = 0} : tensor<8xf32>
  return
}
