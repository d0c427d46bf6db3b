// One Mamba-2 layer on whole tensors: 4 heads of 8 channels, one group, 16 states.
func.func @layer(
    %u: tensor<1x64x16xf32> {cp.name = "u", cp.sequence = 1 : i64},
    %in_proj: tensor<100x16xf32> {cp.param = "in_proj"},
    %conv_weight: tensor<64x4xf32> {cp.param = "conv.weight"},
    %conv_bias: tensor<64xf32> {cp.param = "conv.bias"},
    %dt_bias: tensor<4xf32> {cp.param = "dt_bias"},
    %A_log: tensor<4xf32> {cp.param = "A_log"},
    %D: tensor<4xf32> {cp.param = "D"},
    %norm: tensor<32xf32> {cp.param = "norm"},
    %out_proj: tensor<16x32xf32> {cp.param = "out_proj"})
    -> (tensor<1x64x16xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %y = cp.mamba_mixer %u in_proj(%in_proj) conv(%conv_weight, %conv_bias)
      dt_bias(%dt_bias) A_log(%A_log) D(%D) norm(%norm) out_proj(%out_proj)
      {num_heads = 4, head_dim = 8, num_groups = 1, state_size = 16}
      : (tensor<1x64x16xf32>, tensor<100x16xf32>, tensor<64x4xf32>,
         tensor<64xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<16x32xf32>) -> tensor<1x64x16xf32>
  return %y : tensor<1x64x16xf32>
}
