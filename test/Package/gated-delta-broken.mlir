// In reverse, but the states over ranks go forward: rank 0 has none of what is
// behind its tokens.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#steps = #cp.layout<#mesh, [{}, {"cp"}, {}]>
func.func @model(
    %q: tensor<2x16x3x4xf64> {cp.name = "q", cp.layout = #rows},
    %k: tensor<2x16x3x4xf64> {cp.name = "k", cp.layout = #rows},
    %v: tensor<2x16x3x5xf64> {cp.name = "v", cp.layout = #rows},
    %gate: tensor<2x16x3xf64> {cp.name = "gate", cp.layout = #steps},
    %beta: tensor<2x16x3xf64> {cp.name = "beta", cp.layout = #steps})
    -> (tensor<2x16x3x5xf64> {cp.layout = #rows})
    attributes {cp.view = "local"} {
  %matrix, %state = gated.delta_summary %k, %v, %gate, %beta {reverse}
      : (tensor<2x16x3x4xf64>, tensor<2x16x3x5xf64>, tensor<2x16x3xf64>,
         tensor<2x16x3xf64>) -> (tensor<2x3x4x4xf64>, tensor<2x3x4x5xf64>)
  %prefix:2 = cp.scan_state %matrix, %state over ["cp"] of #mesh
      {combine = #cp.combine<"gated_delta_combine", batch_dims = 2>}
      : tensor<2x3x4x4xf64>, tensor<2x3x4x5xf64>
  %o, %last = gated.delta q(%q) k(%k) v(%v) gate(%gate) beta(%beta)
      initial(%prefix#1) {reverse}
      : (tensor<2x16x3x4xf64>, tensor<2x16x3x4xf64>, tensor<2x16x3x5xf64>,
         tensor<2x16x3xf64>, tensor<2x16x3xf64>, tensor<2x3x4x5xf64>)
      -> (tensor<2x16x3x5xf64>, tensor<2x3x4x5xf64>)
  return %o : tensor<2x16x3x5xf64>
}
