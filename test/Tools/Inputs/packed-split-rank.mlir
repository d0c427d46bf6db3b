#mesh = #cp.mesh<"ring" = 3, "u" = 2>
func.func @main(%x: tensor<1x30x2xf32>
        {cp.name = "x", cp.layout = #cp.layout<#mesh, [{}, {}, {}]>},
    %cu_seqlens: tensor<1x4xi32>
        {cp.name = "cu_seqlens", cp.layout = #cp.layout<#mesh, [{}, {}]>})
    -> (tensor<1x5x2xf32>
        {cp.layout = #cp.layout<#mesh, [{}, {"ring", "u"}, {}]>})
    attributes {cp.view = "local"} {
  %ring = cp.slice %x over ["ring"] of #mesh {dim = 1}
      : tensor<1x30x2xf32> -> tensor<1x10x2xf32>
  %packed = cp.reorder %ring documents(%cu_seqlens : tensor<1x4xi32>)
      from ["ring"] to ["ring" contiguous_per_document] of #mesh {dim = 1}
      : tensor<1x10x2xf32>
  %part = cp.slice %packed over ["u"] of #mesh {dim = 1}
      : tensor<1x10x2xf32> -> tensor<1x5x2xf32>
  return %part : tensor<1x5x2xf32>
}
