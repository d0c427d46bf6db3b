// The rows before a rank's own, taken from the previous rank along "dp", which
// holds another sequence.
#mesh = #cp.mesh<"dp" = 2, "cp" = 2>
#rows = #cp.layout<#mesh, [{"dp"}, {"cp"}, {}]>
func.func @main(%x: tensor<1x8x4xf32> {cp.layout = #rows},
                %w: tensor<4x4xf32>)
    -> (tensor<1x8x4xf32> {cp.layout = #rows}) attributes {cp.view = "local"} {
  %last = tensor.extract_slice %x[0, 5, 0] [1, 3, 4] [1, 1, 1]
      : tensor<1x8x4xf32> to tensor<1x3x4xf32>
  %before = cp.shift %last over ["dp"] of #mesh {offset = 1}
      : tensor<1x3x4xf32>
  %y = cp.conv1d %x weight(%w) initial(%before)
      : (tensor<1x8x4xf32>, tensor<4x4xf32>, tensor<1x3x4xf32>)
      -> tensor<1x8x4xf32>
  return %y : tensor<1x8x4xf32>
}
