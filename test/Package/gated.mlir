func.func @model(
    %gate: tensor<2x64x6xf64> {cp.name = "gate", cp.sequence = 1 : i64},
    %x: tensor<2x64x6xf64> {cp.name = "x", cp.sequence = 1 : i64},
    %initial: tensor<2x6xf64> {cp.name = "initial"})
    -> (tensor<2x64x6xf64> {cp.sequence = 1 : i64}) {
  %h = gated.recurrence %gate, %x initial(%initial)
      : (tensor<2x64x6xf64>, tensor<2x64x6xf64>, tensor<2x6xf64>)
      -> tensor<2x64x6xf64>
  %y = arith.addf %h, %x : tensor<2x64x6xf64>
  return %y : tensor<2x64x6xf64>
}
