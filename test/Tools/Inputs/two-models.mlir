func.func @other(%x: tensor<1x8x16xf32>) -> tensor<1x8x16xf32> {
  return %x : tensor<1x8x16xf32>
}
func.func @model(%x: tensor<1x8x16xf32>, %weight: tensor<16xf32>)
    -> tensor<1x8x16xf32> {
  %unused = arith.addf %x, %x : tensor<1x8x16xf32>
  %normed = cp.rms_norm %x weight(%weight)
      : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  return %normed : tensor<1x8x16xf32>
}
