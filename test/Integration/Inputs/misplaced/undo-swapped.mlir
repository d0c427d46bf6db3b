// The same by hand: rank 0 brings parts 0 and 3, rank 1 parts 1 and 2, and the
// parts of rank 1 are put back in the wrong turn.
#mesh = #cp.mesh<"cp" = 2>
#zigzag = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>
func.func @main(%x: tensor<1x8x4xf32> {cp.layout = #zigzag})
    -> tensor<1x16x4xf32> attributes {cp.view = "local"} {
  %all = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
      : tensor<1x8x4xf32> -> tensor<1x16x4xf32>
  %p0 = tensor.extract_slice %all[0, 0, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x16x4xf32> to tensor<1x4x4xf32>
  %p3 = tensor.extract_slice %all[0, 4, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x16x4xf32> to tensor<1x4x4xf32>
  %p1 = tensor.extract_slice %all[0, 12, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x16x4xf32> to tensor<1x4x4xf32>
  %p2 = tensor.extract_slice %all[0, 8, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x16x4xf32> to tensor<1x4x4xf32>
  %e = tensor.empty() : tensor<1x16x4xf32>
  %0 = tensor.insert_slice %p0 into %e[0, 0, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x4x4xf32> into tensor<1x16x4xf32>
  %1 = tensor.insert_slice %p1 into %0[0, 4, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x4x4xf32> into tensor<1x16x4xf32>
  %2 = tensor.insert_slice %p2 into %1[0, 8, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x4x4xf32> into tensor<1x16x4xf32>
  %3 = tensor.insert_slice %p3 into %2[0, 12, 0] [1, 4, 4] [1, 1, 1]
      : tensor<1x4x4xf32> into tensor<1x16x4xf32>
  return %3 : tensor<1x16x4xf32>
}
