func.func @model(
    %x: tensor<2x8x6xf64> {cp.name = "x", cp.sequence = 1 : i64},
    %initial: tensor<2x5x6xf64> {cp.name = "initial"}) -> tensor<2x8x6xf64> {
  %y = gated.window %x initial(%initial) {rows = 5}
      : (tensor<2x8x6xf64>, tensor<2x5x6xf64>) -> tensor<2x8x6xf64>
  %z = gated.window %y {rows = 3}
      : (tensor<2x8x6xf64>) -> tensor<2x8x6xf64>
  return %z : tensor<2x8x6xf64>
}
