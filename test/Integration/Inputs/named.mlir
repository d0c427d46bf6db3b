// A product, whose arguments' names C has not, and two of which are one there.
func.func @main(
    %x: tensor<1x8x1xf64> {cp.name = "x", cp.sequence = 1 : i64},
    %scale: tensor<1x8x1xf64> {cp.name = "the-scale", cp.sequence = 1 : i64})
    -> (tensor<1x8x1xf64> {cp.name = "the.scale"}) {
  %y = arith.mulf %x, %scale : tensor<1x8x1xf64>
  return %y : tensor<1x8x1xf64>
}
