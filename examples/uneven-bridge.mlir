// A batch of six on meshes of unlike data parallelism: four replicas hold 2, 2, 1 and 1
// of its elements, and two of the next part 3 each, with its channels cut. Run
//   cp-opt examples/uneven-bridge.mlir --cp-shard-pipeline

#encoder = #cp.mesh<"dp" = 4, "tp" = 2>
#model = #cp.mesh<"dp" = 2, "tp" = 4>
!encoded = tensor<6x8xf32, #cp.layout<#encoder, [{"dp" sizes [2, 2, 1, 1]}, {}]>>
!arrived = tensor<6x8xf32, #cp.layout<#model, [{"dp" sizes [3, 3]}, {"tp"}]>>

func.func @main(%x: !encoded {cp.name = "x"}) -> !arrived
    attributes {cp.view = "global"} {
  %activated = math.tanh %x : !encoded
  %0 = cp.reshard %activated : !encoded to !arrived
  %y = arith.mulf %0, %0 : !arrived
  return %y : !arrived
}
