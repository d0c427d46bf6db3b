// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @one
// CHECK: cp.all_to_all %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {concat_dims = array<i64: 1>, split_dims = array<i64: 2>} : (tensor<1x16x32xf32>) -> tensor<1x64x8xf32>
func.func @one(%x: tensor<1x16x32xf32>) {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x16x32xf32>) -> tensor<1x64x8xf32>
  return
}

// CHECK-LABEL: @all
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8x6xi64>)
// CHECK: %[[R:.*]]:2 = cp.all_to_all %[[X]], %[[Y]] over ["cp"] of
// CHECK-SAME: {concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp">], concat_dims = array<i64: 0, 1>, repeat_units = array<i64: 2, 1>, repeats = array<i64: 2, 1>, split_cuts = [#cp.cut<"cp">, #cp.cut<"cp" zigzag>], split_dims = array<i64: 1, 0>} : (tensor<4x8xf32>, tensor<8x6xi64>) -> (tensor<16x4xf32>, tensor<2x24xi64>)
func.func @all(%x: tensor<4x8xf32>, %y: tensor<8x6xi64>) {
  %0:2 = cp.all_to_all %x, %y over ["cp"] of #mesh
      {concat_dims = array<i64: 0, 1>, split_dims = array<i64: 1, 0>,
       repeats = array<i64: 2, 1>, repeat_units = array<i64: 2, 1>,
       concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp">],
       split_cuts = [#cp.cut<"cp">, #cp.cut<"cp" zigzag>]}
      : (tensor<4x8xf32>, tensor<8x6xi64>) -> (tensor<16x4xf32>, tensor<2x24xi64>)
  return
}

// CHECK-LABEL: @two_axes
// CHECK: cp.all_to_all %{{.*}}, %{{.*}} over ["dp", "cp"] of #{{[a-z0-9]+}} {concat_dims = array<i64: 0, 1>, repeat_units = array<i64: 2, 1>, repeats = array<i64: 2, 1>, split_dims = array<i64: 1, 0>} : (tensor<4x8xf32>, tensor<8x6xi64>) -> (tensor<32x2xf32>, tensor<1x48xi64>)
func.func @two_axes(%x: tensor<4x8xf32>, %y: tensor<8x6xi64>) {
  %0:2 = cp.all_to_all %x, %y over ["dp", "cp"] of #mesh
      {concat_dims = array<i64: 0, 1>, split_dims = array<i64: 1, 0>,
       repeats = array<i64: 2, 1>, repeat_units = array<i64: 2, 1>}
      : (tensor<4x8xf32>, tensor<8x6xi64>) -> (tensor<32x2xf32>, tensor<1x48xi64>)
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.all_to_all {{.*}} : (tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @dynamic(%x: tensor<?x?xf32>) {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: @striped
// CHECK: cp.all_to_all %{{.*}}, %{{.*}} over ["cp"] of #{{[a-z0-9]+}} {concat_cuts = [#cp.cut<"cp" striped : 2>, #cp.cut<"cp">], concat_dims = array<i64: 0, 0>, split_cuts = [#cp.cut<"cp">, #cp.cut<"cp" striped>], split_dims = array<i64: 1, 1>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<16x2xf32>, tensor<16x2xf32>)
func.func @striped(%x: tensor<4x8xf32>) {
  %0:2 = cp.all_to_all %x, %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0, 0>, split_dims = array<i64: 1, 1>,
       concat_cuts = [#cp.cut<"cp" striped : 2>, #cp.cut<"cp">],
       split_cuts = [#cp.cut<"cp">, #cp.cut<"cp" striped>]}
      : (tensor<4x8xf32>, tensor<4x8xf32>)
      -> (tensor<16x2xf32>, tensor<16x2xf32>)
  return
}
