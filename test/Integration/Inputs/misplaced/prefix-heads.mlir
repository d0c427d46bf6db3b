// The prefix of the states is cut over heads in another order than x: rank 0 has
// heads 0 and 3 of it, and heads 0 and 1 of x.
#mesh = #cp.mesh<"cp" = 2, "u" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {"u"}, {}]>
#one = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#dt = #cp.layout<#mesh, [{}, {"cp"}, {"u"}]>
#heads = #cp.layout<#mesh, [{"u"}]>
func.func @main(%x: tensor<1x8x2x4xf32> {cp.layout = #rows},
                %dt: tensor<1x8x2xf32> {cp.layout = #dt},
                %a: tensor<2xf32> {cp.layout = #heads},
                %b: tensor<1x8x1x4xf32> {cp.layout = #one},
                %c: tensor<1x8x1x4xf32> {cp.layout = #one})
    -> (tensor<1x8x2x4xf32> {cp.layout = #rows})
    attributes {cp.view = "local"} {
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
         tensor<1x8x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x4x4xf32>, tensor<1x1x2x4x4xf32>,
          tensor<1x8x2xf32>)
  %pd, %ps = cp.scan_state %decay, %state over ["cp"] of #mesh
      : tensor<1x2xf32>, tensor<1x2x4x4xf32>
  %all = cp.all_gather %ps over ["u"] of #mesh {dim = 1}
      : tensor<1x2x4x4xf32> -> tensor<1x4x4x4xf32>
  %bad = cp.slice %all over ["u" zigzag] of #mesh {dim = 1}
      : tensor<1x4x4x4xf32> -> tensor<1x2x4x4xf32>
  %y, %last = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %bad) {chunk_size = 8}
      : (tensor<1x8x2x4xf32>, tensor<2xf32>, tensor<1x8x1x4xf32>,
         tensor<1x8x1x4xf32>, tensor<1x1x2x4x4xf32>, tensor<1x8x2xf32>,
         tensor<1x2xf32>, tensor<1x2x4x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x4x4xf32>)
  return %y : tensor<1x8x2x4xf32>
}
