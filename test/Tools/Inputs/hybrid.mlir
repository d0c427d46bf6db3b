// A mixer, attention and a projection, small enough to read.
#rows = affine_map<(b, l, n, k) -> (b, l, k)>
#weight = affine_map<(b, l, n, k) -> (n, k)>
#out = affine_map<(b, l, n, k) -> (b, l, n)>
func.func @main(
    %x: tensor<2x32x16xf32> {cp.name = "x", cp.sequence = 1 : i64},
    %in: tensor<152x16xf32> {cp.param = "layers.0.in"},
    %cw: tensor<80x4xf32> {cp.param = "layers.0.conv"},
    %cb: tensor<80xf32> {cp.param = "layers.0.conv_bias"},
    %dtb: tensor<8xf32> {cp.param = "layers.0.dt_bias"},
    %a: tensor<8xf32> {cp.param = "layers.0.A_log"},
    %d: tensor<8xf32> {cp.param = "layers.0.D"},
    %nw: tensor<64xf32> {cp.param = "layers.0.norm"},
    %o: tensor<16x64xf32> {cp.param = "layers.0.out"},
    %wq: tensor<32x16xf32> {cp.param = "layers.1.q"},
    %wk: tensor<8x16xf32> {cp.param = "layers.1.k"},
    %wv: tensor<8x16xf32> {cp.param = "layers.1.v"},
    %wo: tensor<16x32xf32> {cp.param = "layers.1.o"}) -> tensor<2x32x16xf32> {
  %0 = cp.mamba_mixer %x in_proj(%in) conv(%cw, %cb) dt_bias(%dtb) A_log(%a)
      D(%d) norm(%nw) out_proj(%o)
      {num_heads = 8, head_dim = 8, num_groups = 2, state_size = 4}
      : (tensor<2x32x16xf32>, tensor<152x16xf32>, tensor<80x4xf32>,
         tensor<80xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
         tensor<64xf32>, tensor<16x64xf32>) -> tensor<2x32x16xf32>
  %1 = arith.addf %x, %0 : tensor<2x32x16xf32>
  %zero = arith.constant 0.0 : f32
  %e32 = tensor.empty() : tensor<2x32x32xf32>
  %z32 = linalg.fill ins(%zero : f32) outs(%e32 : tensor<2x32x32xf32>)
      -> tensor<2x32x32xf32>
  %e8 = tensor.empty() : tensor<2x32x8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<2x32x8xf32>)
      -> tensor<2x32x8xf32>
  %e16 = tensor.empty() : tensor<2x32x16xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<2x32x16xf32>)
      -> tensor<2x32x16xf32>
  %q = linalg.contract indexing_maps = [#rows, #weight, #out]
      {cp.parallel = "columns"}
      ins(%1, %wq : tensor<2x32x16xf32>, tensor<32x16xf32>)
      outs(%z32 : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %k = linalg.contract indexing_maps = [#rows, #weight, #out]
      {cp.parallel = "columns"}
      ins(%1, %wk : tensor<2x32x16xf32>, tensor<8x16xf32>)
      outs(%z8 : tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %v = linalg.contract indexing_maps = [#rows, #weight, #out]
      {cp.parallel = "columns"}
      ins(%1, %wv : tensor<2x32x16xf32>, tensor<8x16xf32>)
      outs(%z8 : tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 32, 8, 4]
      : tensor<2x32x32xf32> into tensor<2x32x8x4xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 32, 2, 4]
      : tensor<2x32x8xf32> into tensor<2x32x2x4xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 32, 2, 4]
      : tensor<2x32x8xf32> into tensor<2x32x2x4xf32>
  %out, %lse = cp.attention %qh, %kh, %vh
      : (tensor<2x32x8x4xf32>, tensor<2x32x2x4xf32>, tensor<2x32x2x4xf32>)
      -> (tensor<2x32x8x4xf32>, tensor<2x8x32xf32>)
  %m = tensor.collapse_shape %out [[0], [1], [2, 3]]
      : tensor<2x32x8x4xf32> into tensor<2x32x32xf32>
  %p = linalg.contract indexing_maps = [#rows, #weight, #out]
      {cp.parallel = "rows"}
      ins(%m, %wo : tensor<2x32x32xf32>, tensor<16x32xf32>)
      outs(%z16 : tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  %r = arith.addf %1, %p : tensor<2x32x16xf32>
  return %r : tensor<2x32x16xf32>
}
