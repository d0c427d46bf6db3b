// Ids from 1 on, each of which has one before it, that is embedded and the label.
func.func @main(%ids: tensor<1x5xi32> {cp.name = "ids", cp.sequence = 1 : i64}, %table: tensor<8x2xf64> {cp.param = "table"})
    -> (tensor<1x5xf64> {cp.name = "losses"}) {
  %one = arith.constant dense<1> : tensor<1x5xi32>
  %before = arith.subi %ids, %one : tensor<1x5xi32>
  %h = cp.embedding %before in %table : (tensor<1x5xi32>, tensor<8x2xf64>) -> tensor<1x5x2xf64>
  %losses, %lse = cp.linear_cross_entropy %h, %table labels(%before)
      : (tensor<1x5x2xf64>, tensor<8x2xf64>, tensor<1x5xi32>) -> (tensor<1x5xf64>, tensor<1x5xf64>)
  return %losses : tensor<1x5xf64>
}
