// Each rank starts from the final state of the rank before it, which that rank
// has reached from zero: enough for two ranks, not for more.
#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#dt = #cp.layout<#mesh, [{}, {"cp"}, {}]>
func.func @main(%x: tensor<1x8x2x4xf32> {cp.layout = #rows},
                %dt: tensor<1x8x2xf32> {cp.layout = #dt},
                %a: tensor<2xf32>,
                %b: tensor<1x8x1x4xf32> {cp.layout = #rows},
                %c: tensor<1x8x1x4xf32> {cp.layout = #rows})
    -> (tensor<1x8x2x4xf32> {cp.layout = #rows})
    attributes {cp.view = "local"} {
  %y0, %own = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
         tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x4x4xf32>)
  %state = cp.shift %own over ["cp"] of #mesh {offset = 1}
      : tensor<1x2x4x4xf32>
  %y, %last = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) initial(%state)
      : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
         tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x2x4x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x4x4xf32>)
  return %y : tensor<1x8x2x4xf32>
}
