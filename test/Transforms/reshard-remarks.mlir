// RUN: %cp-opt %s --cp-simplify-reshards --cp-partition --remarks-filter=reshard \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#channels = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#whole = #cp.layout<#mesh, [{}, {}, {}]>
#matrix = #cp.layout<#mesh, [{}, {}]>
#first = #cp.layout<#mesh, [{"cp"}, {}]>
#sum = #cp.layout<#mesh, [{}, {}, {}], partial = {"cp"}>

// A reshard of a reshard is one from the first to the last layout.

// CHECK: :[[@LINE+22]]:8: remark: [Passed] folded | Category:reshard | Function=main
// CHECK-SAME: to="[{}, {}, {"cp"}]", why="composed with the reshards around it"

// Each reshard says for whom it is and why, in whole layouts. A part of 1 x 4 x 16
// elements keeps a quarter.

// CHECK: remark: [Passed] reshard | Category:reshard | Function=main
// CHECK-SAME: bytes=192, for=cp.conv1d, from="[{}, {"cp"}, {}]", layer=embedding, operand=0, steps=cp.all_to_all, to="[{}, {}, {"cp"}]", why="it needs the whole sequence, cut along its hidden dimension instead"
// CHECK: remark: [Passed] reshard
// CHECK-SAME: bytes=0, for=cp.conv1d, from="[{}, {}]", layer=3, operand=1, steps=cp.slice, to="[{"cp"}, {}]", why="it is cut along its hidden dimension"
// CHECK: remark: [Passed] reshard
// CHECK-SAME: bytes=192, for=arith.addf, {{.*}} operand=1, steps=cp.all_to_all, to="[{}, {"cp"}, {}]", why="operand 0 is cut like this"
// CHECK: remark: [Passed] reshard
// CHECK-SAME: bytes=768, for=func.return, {{.*}} steps=cp.all_gather, to="[{}, {}, {}]", why="the function's result has this layout"
// CHECK: remark: [Passed] reshard
// CHECK-SAME: bytes=3072, for=math.exp, from="[{}, {}, {}], partial = {"cp"}", {{.*}} steps=cp.all_reduce, to="[{}, {}, {}]", why="it needs the sum over the ranks"
func.func @main(%x: tensor<1x16x16xf32, #rows>,
    %w: tensor<16x4xf32, #matrix> {cp.param = "layers.3.w"}, %s: tensor<1x16x16xf32, #sum>)
    -> (tensor<1x16x16xf32, #whole>, tensor<1x16x16xf32, #whole>)
    attributes {cp.view = "global"} {
  %a = cp.reshard %x : tensor<1x16x16xf32, #rows> to tensor<1x16x16xf32, #whole>
  %b = cp.reshard %a : tensor<1x16x16xf32, #whole> to tensor<1x16x16xf32, #rows>
  %0 = cp.reshard %b : tensor<1x16x16xf32, #rows> to tensor<1x16x16xf32, #channels>
  %1 = cp.reshard %w : tensor<16x4xf32, #matrix> to tensor<16x4xf32, #first>
  %2 = cp.conv1d %0 weight(%1)
      : (tensor<1x16x16xf32, #channels>, tensor<16x4xf32, #first>)
      -> tensor<1x16x16xf32, #channels>
  %3 = cp.reshard %2 : tensor<1x16x16xf32, #channels> to tensor<1x16x16xf32, #rows>
  %4 = arith.addf %x, %3 : tensor<1x16x16xf32, #rows>
  %5 = cp.reshard %4 : tensor<1x16x16xf32, #rows> to tensor<1x16x16xf32, #whole>
  %6 = cp.reshard %s : tensor<1x16x16xf32, #sum> to tensor<1x16x16xf32, #whole>
  %7 = math.exp %6 : tensor<1x16x16xf32, #whole>
  return %5, %7 : tensor<1x16x16xf32, #whole>, tensor<1x16x16xf32, #whole>
}
