// An image encoder's projection on two replicas with its columns over four ranks, and
// the first op of a language model on the same eight ranks: two replicas of two parts
// of the sequence, with channels over two ranks.
#encoder = #cp.mesh<"dp" = 2, "tp" = 4>
#model = #cp.mesh<"dp" = 2, "cp" = 2, "tp" = 2>
!patches = tensor<4x64x32xf32, #cp.layout<#encoder, [{"dp"}, {}, {"tp"}]>>
!weight = tensor<32x32xf32, #cp.layout<#encoder, [{}, {"tp"}]>>
!sum = tensor<4x64x32xf32, #cp.layout<#encoder, [{"dp"}, {}, {}], partial = {"tp"}>>
!hidden = tensor<4x64x32xf32, #cp.layout<#model, [{"dp"}, {"cp" zigzag}, {"tp"}]>>
!filter = tensor<32x4xf32, #cp.layout<#model, [{"tp"}, {}]>>
#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>

func.func @main(%patches: !patches {cp.name = "patches"},
                %weight: !weight {cp.param = "projection"},
                %filter: !filter {cp.param = "conv"})
    -> (!hidden {cp.name = "hidden"}) attributes {cp.view = "global"} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !sum
  %start = linalg.fill ins(%zero : f32) outs(%empty : !sum) -> !sum
  %sum = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%patches, %weight : !patches, !weight) outs(%start : !sum) -> !sum
  %arrived = cp.reshard %sum : !sum to !hidden
  %hidden = cp.conv1d %arrived weight(%filter) {silu = true}
      : (!hidden, !filter) -> !hidden
  return %hidden : !hidden
}
