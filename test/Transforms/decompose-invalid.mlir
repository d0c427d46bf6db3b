// RUN: %cp-opt %s --cp-decompose --split-input-file --verify-diagnostics

func.func @dynamic(%u: tensor<1x?x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) -> tensor<1x?x8xf32> {
  // expected-error @below {{'cp.mamba_mixer' op has a shape that is not static; give the importer a batch and a sequence length}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb) A_log(%a)
      D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x?x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>) -> tensor<1x?x8xf32>
  return %0 : tensor<1x?x8xf32>
}

// -----

func.func @dynamic_weight(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x?xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) -> tensor<1x16x8xf32> {
  // expected-error @below {{'cp.mamba_mixer' op has a shape that is not static; give the importer a batch and a sequence length, and weights all sizes}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb) A_log(%a)
      D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x?xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}
