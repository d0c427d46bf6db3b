// Places of rows in contiguous order for rows in zigzag order.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}, {}]>
#conv = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#places = #cp.layout<#mesh, [{}, {"cp"}]>
#swapped = #cp.layout<#mesh, [{}, {"cp" zigzag}]>
#lse = #cp.layout<#mesh, [{}, {}, {"cp" zigzag}]>
func.func @main(%q: tensor<1x8x2x4xf32> {cp.layout = #rows},
                %x: tensor<1x8x4xf32> {cp.layout = #conv},
                %w: tensor<4x1xf32>,
                %h: tensor<1x8x2x4xf32> {cp.layout = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>},
                %dt: tensor<1x8x2xf32> {cp.layout = #conv},
                %a: tensor<2xf32>,
                %places: tensor<1x8xi64> {cp.layout = #places},
                %swapped: tensor<1x8xi64> {cp.layout = #swapped})
    -> (tensor<1x8x2x4xf32> {cp.layout = #rows},
        tensor<1x8x4xf32> {cp.layout = #conv},
        tensor<1x2xf32>)
    attributes {cp.view = "local"} {
  %o, %lse = cp.ring_attention %q, %q, %q places(%places)
      over ["cp" zigzag] of #mesh
      : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
         tensor<1x8xi64>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  %y = cp.conv1d %x weight(%w) places(%swapped)
      : (tensor<1x8x4xf32>, tensor<4x1xf32>, tensor<1x8xi64>)
      -> tensor<1x8x4xf32>
  %decay, %state, %chunks, %delta = cp.ssd_states %h dt(%dt) A_log(%a) B(%h)
      places(%swapped) {chunk_size = 8}
      : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
         tensor<1x8x2x4xf32>, tensor<1x8xi64>)
      -> (tensor<1x2xf32>, tensor<1x2x4x4xf32>, tensor<1x1x2x4x4xf32>,
          tensor<1x8x2xf32>)
  return %o, %y, %decay : tensor<1x8x2x4xf32>, tensor<1x8x4xf32>, tensor<1x2xf32>
}
