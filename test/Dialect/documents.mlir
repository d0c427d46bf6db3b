// RUN: %cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --cse | FileCheck %s --check-prefix=CSE

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK-LABEL: @positions
// CHECK: cp.positions documents(%{{.*}} : tensor<2x5xi32>) : tensor<2x64xi64>
// CHECK: cp.positions documents(%{{.*}} : tensor<?x?xi32>) : tensor<?x?xi64>
// CHECK: cp.cut_positions documents(%{{.*}} : tensor<2x5xi32>) over ["cp" zigzag] of #mesh : tensor<2x16xi64>
// CHECK: cp.cut_positions documents(%{{.*}} : tensor<2x5xi32>) alike ["dp", "cp"] over [] of #mesh : tensor<2x64xi64>
func.func @positions(%cu: tensor<2x5xi32>, %any: tensor<?x?xi32>)
    attributes {cp.view = "local"} {
  %0 = cp.positions documents(%cu : tensor<2x5xi32>) : tensor<2x64xi64>
  %1 = cp.positions documents(%any : tensor<?x?xi32>) : tensor<?x?xi64>
  %2 = cp.cut_positions documents(%cu : tensor<2x5xi32>)
      over ["cp" zigzag] of #mesh : tensor<2x16xi64>
  %3 = cp.cut_positions documents(%cu : tensor<2x5xi32>)
      alike ["dp", "cp"] over [] of #mesh : tensor<2x64xi64>
  return
}

// Ranks of the group compare their lists, all as often: equal ones become one.

// CSE-LABEL: @equal
// CSE: %[[P:.*]] = cp.cut_positions
// CSE-NOT: cp.cut_positions
// CSE: return %[[P]], %[[P]]
func.func @equal(%cu: tensor<2x5xi32>) -> (tensor<2x16xi64>, tensor<2x16xi64>)
    attributes {cp.view = "local"} {
  %0 = cp.cut_positions documents(%cu : tensor<2x5xi32>) over ["cp"] of #mesh
      : tensor<2x16xi64>
  %1 = cp.cut_positions documents(%cu : tensor<2x5xi32>) over ["cp"] of #mesh
      : tensor<2x16xi64>
  return %0, %1 : tensor<2x16xi64>, tensor<2x16xi64>
}

// CHECK-LABEL: @layers
// CHECK: cp.mamba_mixer {{.*}} out_proj(%{{.*}}) documents(%{{.*}}) {
// CHECK: cp.attention_block {{.*}} o_proj(%{{.*}}) documents(%{{.*}}) {
func.func @layers(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %h: tensor<2xf32>, %out: tensor<8x16xf32>,
    %w: tensor<8x8xf32>, %cu: tensor<1x3xi32>) {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%h) A_log(%h) D(%h)
      out_proj(%out) documents(%cu)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>, tensor<1x3xi32>)
      -> tensor<1x16x8xf32>
  %1 = cp.attention_block %u q_proj(%w) k_proj(%w) v_proj(%w) o_proj(%w)
      documents(%cu) {num_heads = 2, num_kv_heads = 2, head_dim = 4}
      : (tensor<1x16x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
         tensor<8x8xf32>, tensor<1x3xi32>) -> tensor<1x16x8xf32>
  return
}
