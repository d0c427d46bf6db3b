// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=3 mixer=hidden" | FileCheck %s

// Five heads on three ranks, of a tensor whose layout the module pins: zeros have
// the same one.

// CHECK-LABEL: func.func @pinned(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x5x8xf32>
// CHECK:         tensor.insert_slice %[[X]] into %{{.*}}[0, 0, 0, 0] [1, 4, 5, 8] [1, 1, 1, 1] : tensor<1x4x5x8xf32> into tensor<1x4x6x8xf32>
// CHECK:         cp.ssd {{.*}} -> (tensor<1x12x2x8xf32>, tensor<1x2x8x4xf32>)
#m = #cp.mesh<"cp" = 3>
func.func @pinned(%x: tensor<1x12x5x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x12x5xf32> {cp.sequence = 1 : i64}, %a: tensor<5xf32>, %b: tensor<1x12x1x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x12x5x8xf32, #cp.layout<#m, [{}, {"cp"}, {}, {}]>> {
  %p = cp.reshard %x : tensor<1x12x5x8xf32> to tensor<1x12x5x8xf32, #cp.layout<#m, [{}, {"cp"}, {}, {}]>>
  %y, %s = cp.ssd %p dt(%dt) A_log(%a) B(%b) C(%b) : (tensor<1x12x5x8xf32, #cp.layout<#m, [{}, {"cp"}, {}, {}]>>, tensor<1x12x5xf32>, tensor<5xf32>, tensor<1x12x1x4xf32>, tensor<1x12x1x4xf32>) -> (tensor<1x12x5x8xf32, #cp.layout<#m, [{}, {"cp"}, {}, {}]>>, tensor<1x5x8x4xf32>)
  return %y : tensor<1x12x5x8xf32, #cp.layout<#m, [{}, {"cp"}, {}, {}]>>
}
