// In reverse, but with the rows before a rank's own.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
func.func @model(%x: tensor<2x4x6xf64> {cp.name = "x", cp.layout = #rows})
    -> (tensor<2x4x6xf64> {cp.layout = #rows})
    attributes {cp.view = "local"} {
  %halo = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 3}
      : (tensor<2x4x6xf64>) -> tensor<2x3x6xf64>
  %y = gated.window %x initial(%halo) {rows = 3, reverse}
      : (tensor<2x4x6xf64>, tensor<2x3x6xf64>) -> tensor<2x4x6xf64>
  return %y : tensor<2x4x6xf64>
}
