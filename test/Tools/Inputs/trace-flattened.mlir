// A batch of one, whose rows are laid out one behind the other and back.
func.func @main(%x: tensor<1x4x2xf64> {cp.name = "x", cp.sequence = 1 : i64})
    -> (tensor<1x4x2xf64> {cp.name = "y"}) {
  %flat = tensor.collapse_shape %x [[0, 1], [2]]
      : tensor<1x4x2xf64> into tensor<4x2xf64>
  %rows = tensor.expand_shape %flat [[0, 1], [2]] output_shape [1, 4, 2]
      : tensor<4x2xf64> into tensor<1x4x2xf64>
  %y = arith.subf %rows, %x : tensor<1x4x2xf64>
  return %y : tensor<1x4x2xf64>
}
