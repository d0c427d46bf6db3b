#images = #cp.mesh<"e" = RANKS>
!image = tensor<2x4xf64, #cp.layout<#images, [{"e"}, {}]>>
func.func @main(%x: tensor<2x4xf64> {cp.name = "x", cp.sequence = 1 : i64})
    -> (!image {cp.name = "y"}) {
  %0 = math.exp %x : tensor<2x4xf64>
  %1 = cp.reshard %0 : tensor<2x4xf64> to !image
  return %1 : !image
}
