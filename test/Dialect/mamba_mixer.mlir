// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @least
// CHECK: cp.mamba_mixer %{{.*}} in_proj(%{{.*}}) conv(%{{.*}}) dt_bias(%{{.*}}) A_log(%{{.*}}) D(%{{.*}}) out_proj(%{{.*}}) {head_dim = 8 : i64, num_groups = 1 : i64, num_heads = 2 : i64, state_size = 4 : i64} : (
func.func @least(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %h: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // Defaults are not printed.
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%h) A_log(%h) D(%h)
      out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       chunk_size = 64, norm_groups = 1, gate_first = true, eps = 1.0e-5,
       dt_min = 0.0, dt_max = 0x7FF0000000000000 : f64}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// CHECK-LABEL: @all
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<1x16x8xf32>, %[[IN:[a-z0-9]+]]: tensor<42x8xf32>, %[[INB:[a-z0-9]+]]: tensor<42xf32>, %[[CW:[a-z0-9]+]]: tensor<24x4xf32>, %[[CB:[a-z0-9]+]]: tensor<24xf32>, %[[H:[a-z0-9]+]]: tensor<2xf32>, %[[D:[a-z0-9]+]]: tensor<2x8xf32>, %[[NW:[a-z0-9]+]]: tensor<16xf32>, %[[OUT:[a-z0-9]+]]: tensor<8x16xf32>, %[[OUTB:[a-z0-9]+]]: tensor<8xf32>
// CHECK: cp.mamba_mixer %[[U]] in_proj(%[[IN]], %[[INB]]) conv(%[[CW]], %[[CB]]) dt_bias(%[[H]]) A_log(%[[H]]) D(%[[D]]) norm(%[[NW]]) out_proj(%[[OUT]], %[[OUTB]])
// CHECK-SAME: {chunk_size = 16 : i64, dt_max = 1.000000e-01 : f64, dt_min = 1.000000e-03 : f64, eps = 1.250000e-01 : f64, gate_first = false, head_dim = 8 : i64, norm_groups = 4 : i64, num_groups = 1 : i64, num_heads = 2 : i64, state_size = 4 : i64, strategy = "hidden"}
func.func @all(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %inb: tensor<42xf32>, %cw: tensor<24x4xf32>, %cb: tensor<24xf32>,
    %h: tensor<2xf32>, %d: tensor<2x8xf32>, %nw: tensor<16xf32>,
    %out: tensor<8x16xf32>, %outb: tensor<8xf32>) {
  %0 = cp.mamba_mixer %u in_proj(%in, %inb) conv(%cw, %cb) dt_bias(%h) A_log(%h)
      D(%d) norm(%nw) out_proj(%out, %outb)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       chunk_size = 16, norm_groups = 4, gate_first = false, eps = 0.125,
       dt_min = 0.001, dt_max = 0.1, strategy = "hidden"}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<42xf32>, tensor<24x4xf32>,
         tensor<24xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x8xf32>,
         tensor<16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.mamba_mixer
func.func @dynamic(%u: tensor<?x?x8xf32>, %in: tensor<42x?xf32>,
    %cw: tensor<24x?xf32>, %h: tensor<?xf32>, %out: tensor<8x16xf32>) {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%h) A_log(%h) D(%h)
      out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<?x?x8xf32>, tensor<42x?xf32>, tensor<24x?xf32>,
         tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<8x16xf32>)
      -> tensor<?x?x8xf32>
  return
}
