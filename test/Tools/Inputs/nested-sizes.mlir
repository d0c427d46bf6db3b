#mesh = #cp.mesh<"ring" = 3, "u" = 2>
!whole = tensor<10x4xf32, #cp.layout<#mesh, [{}, {}]>>
!parts = tensor<10x4xf32, #cp.layout<#mesh, [{"ring", "u" sizes [2, 2, 2, 1, 2, 1]}, {}]>>

func.func @main(%x: !whole {cp.name = "x"}) -> !parts
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : !whole to !parts
  %y = math.tanh %0 : !parts
  return %y : !parts
}
