func.func @model(
    %q: tensor<2x32x3x4xf64> {cp.name = "q", cp.sequence = 1 : i64},
    %k: tensor<2x32x3x4xf64> {cp.name = "k", cp.sequence = 1 : i64},
    %v: tensor<2x32x3x5xf64> {cp.name = "v", cp.sequence = 1 : i64},
    %gate: tensor<2x32x3xf64> {cp.name = "gate", cp.sequence = 1 : i64},
    %beta: tensor<2x32x3xf64> {cp.name = "beta", cp.sequence = 1 : i64},
    %initial: tensor<2x3x4x5xf64> {cp.name = "initial"})
    -> (tensor<2x32x3x5xf64>, tensor<2x3x4x5xf64>) {
  %o, %state = gated.delta q(%q) k(%k) v(%v) gate(%gate) beta(%beta)
      initial(%initial)
      : (tensor<2x32x3x4xf64>, tensor<2x32x3x4xf64>, tensor<2x32x3x5xf64>,
         tensor<2x32x3xf64>, tensor<2x32x3xf64>, tensor<2x3x4x5xf64>)
      -> (tensor<2x32x3x5xf64>, tensor<2x3x4x5xf64>)
  return %o, %state : tensor<2x32x3x5xf64>, tensor<2x3x4x5xf64>
}
