// A rank's number in its group of "cp" is used in the group of "dp": rows go over
// the wrong axis.
#mesh = #cp.mesh<"dp" = 2, "cp" = 2>
#in = #cp.layout<#mesh, [{"dp"}, {"cp"}, {}]>
#out = #cp.layout<#mesh, [{"dp"}, {}, {"cp"}]>
func.func @main(%x: tensor<1x8x4xf32> {cp.layout = #in})
    -> (tensor<1x16x2xf32> {cp.layout = #out}) attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["dp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x4xf32>) -> tensor<1x16x2xf32>
  return %0 : tensor<1x16x2xf32>
}
