// Each rank has encoded its own images, one of them none, and has as many tokens as
// they gave. Attention wants all tokens of some heads. Run
//   cp-opt examples/images.mlir --cp-shard-pipeline

#mesh = #cp.mesh<"cp" = 4>
!encoded = tensor<37x64xf32, #cp.layout<#mesh, [{"cp" sizes [16, 0, 9, 12]}, {}]>>
!heads = tensor<37x64xf32, #cp.layout<#mesh, [{}, {"cp"}]>>

func.func @main(%x: !encoded {cp.name = "x"}) -> !heads
    attributes {cp.view = "global"} {
  %activated = math.tanh %x : !encoded
  %0 = cp.reshard %activated : !encoded to !heads
  return %0 : !heads
}
