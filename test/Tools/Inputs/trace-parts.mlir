// A dimension that is dropped; and summaries of one unit, whose tensors need not
// begin with the same sizes.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#row = #cp.layout<#mesh, [{"cp"}, {}]>
#a = #cp.layout<#mesh, [{"cp"}, {}]>
#e = #cp.layout<#mesh, [{"cp"}]>
func.func @main(%x: tensor<1x8x4xf32> {cp.layout = #rows},
                %a: tensor<8x8xf64> {cp.layout = #a},
                %e: tensor<16xf64> {cp.layout = #e})
    -> (tensor<8x4xf32> {cp.layout = #row})
    attributes {cp.view = "local"} {
  %0 = tensor.extract_slice %x[0, 0, 0] [1, 8, 4] [1, 1, 1]
      : tensor<1x8x4xf32> to tensor<8x4xf32>
  %prefix:2 = cp.scan_state %a, %e over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 0>}
      : tensor<8x8xf64>, tensor<16xf64>
  return %0 : tensor<8x4xf32>
}
