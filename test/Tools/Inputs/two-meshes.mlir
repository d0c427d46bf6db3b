#a = #cp.layout<#cp.mesh<"a" = 2>, [{"a"}]>
#b = #cp.layout<#cp.mesh<"b" = 2>, [{"b"}]>
func.func @main(%x: tensor<2xf32> {cp.layout = #a}, %y: tensor<2xf32> {cp.layout = #b})
    attributes {cp.view = "local"} {
  return
}
