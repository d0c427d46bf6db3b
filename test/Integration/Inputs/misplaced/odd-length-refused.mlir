// The same length without the cut: a rank's 9 rows are no two parts.
#mesh = #cp.mesh<"cp" = 2>
func.func @main(%x: tensor<1x9x4xf32>) -> tensor<1x9x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x9x4xf32>
  return %0 : tensor<1x9x4xf32>
}
