// An op that has no sharding rule.
#mesh = #cp.mesh<"cp" = 2>
func.func @main(%x: tensor<4x8xf32>) -> tensor<8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.shift %x over ["cp"] of #mesh {offset = 1} : tensor<4x8xf32>
  %1 = tensor.concat dim(0) %0, %x
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
