// The rows are cut contiguously, but attention takes them for zigzag (a head-tail
// schedule).
#mesh = #cp.mesh<"cp" = 4>
#q = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
func.func @main(%q: tensor<1x8x4x8xf32> {cp.layout = #q},
                %k: tensor<1x8x2x8xf32> {cp.layout = #q},
                %v: tensor<1x8x2x8xf32> {cp.layout = #q})
    -> (tensor<1x8x4x8xf32> {cp.layout = #q}) attributes {cp.view = "local"} {
  %out, %lse = cp.ring_attention %q, %k, %v over ["cp" zigzag] of #mesh
      : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
      -> (tensor<1x8x4x8xf32>, tensor<1x4x8xf32>)
  return %out : tensor<1x8x4x8xf32>
}
