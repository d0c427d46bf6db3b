// 18 rows over 2 ranks: zigzag wants a multiple of 4. Parts of floor(18 / 4) = 4
// rows are put back, and rows are lost.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
func.func @main(%x: tensor<1x9x4xf32> {cp.layout = #rows})
    -> (tensor<1x9x4xf32> {cp.layout = #rows}) attributes {cp.view = "local"} {
  %even = tensor.extract_slice %x[0, 0, 0] [1, 8, 4] [1, 1, 1]
      : tensor<1x9x4xf32> to tensor<1x8x4xf32>
  %zigzag = cp.reorder %even from ["cp"] to ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x8x4xf32>
  %back = cp.reorder %zigzag from ["cp" zigzag] to ["cp"] of #mesh {dim = 1}
      : tensor<1x8x4xf32>
  %e = tensor.empty() : tensor<1x9x4xf32>
  %z = tensor.insert_slice %back into %e[0, 1, 0] [1, 8, 4] [1, 1, 1]
      : tensor<1x8x4xf32> into tensor<1x9x4xf32>
  return %z : tensor<1x9x4xf32>
}
