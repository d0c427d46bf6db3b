#mesh = #cp.mesh<"ring" = 4>
#rows = #cp.layout<#mesh, [{}, {"ring" zigzag}, {}]>
#state = #cp.layout<#mesh, [{}, {}]>
func.func @model(
    %gate: tensor<2x64x6xf64, #rows> {cp.name = "gate"},
    %x: tensor<2x64x6xf64, #rows> {cp.name = "x"},
    %initial: tensor<2x6xf64, #state> {cp.name = "initial"})
    -> tensor<2x64x6xf64, #rows> attributes {cp.view = "global"} {
  %h = gated.recurrence %gate, %x initial(%initial)
      : (tensor<2x64x6xf64, #rows>, tensor<2x64x6xf64, #rows>,
         tensor<2x6xf64, #state>) -> tensor<2x64x6xf64, #rows>
  %y = arith.addf %h, %x : tensor<2x64x6xf64, #rows>
  return %y : tensor<2x64x6xf64, #rows>
}
