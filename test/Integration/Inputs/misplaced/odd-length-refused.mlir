// The same length without the cut: a rank's 9 rows are no two parts.
#mesh = #cp.mesh<"cp" = 2>
func.func @main(%x: tensor<1x9x4xf32>) -> tensor<1x9x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 1, to_zigzag = true}
      : tensor<1x9x4xf32>
  return %0 : tensor<1x9x4xf32>
}
