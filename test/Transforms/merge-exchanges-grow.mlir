// RUN: %cp-opt %s --pass-pipeline='builtin.module(cp-shard-pipeline{mesh=cp=4 mixer=sequence scan=doubling})' | FileCheck %s

// Found by fuzzing, seen by the address sanitizer: the block has as many ops as
// the pass's table holds before it grows, which it did in the middle of a merge.
// CHECK-LABEL: func.func @layer
// CHECK:         cp.halo
// CHECK-NOT:     cp.halo
// CHECK:         cp.scan_state
func.func @layer(%u: tensor<1x16x8xf32>, %in: tensor<84x8xf32>,
    %cw: tensor<48x4xf32>, %cb: tensor<48xf32>, %dtb: tensor<4xf32>,
    %a: tensor<4xf32>, %d: tensor<4xf32>, %nw: tensor<32xf32>,
    %out: tensor<8x32xf32>) -> tensor<1x16x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb) A_log(%a)
      D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 2, state_size = 4,
       chunk_size = 8, norm_groups = 2, gate_first = false, eps = 0.25,
       dt_max = 0.1}
      : (tensor<1x16x8xf32>, tensor<84x8xf32>, tensor<48x4xf32>,
         tensor<48xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

