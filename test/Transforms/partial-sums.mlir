// RUN: %cp-opt %s --cp-verify-layouts --cp-partition --cp-lower-reshards | FileCheck %s

// A contraction whose summed dimension is cut over "tp" gives each rank one term
// of the result. The terms are added when the layout says so: to a full value,
// or so that each rank keeps a part of it.

#mesh = #cp.mesh<"cp" = 2, "tp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#columns = #cp.layout<#mesh, [{}, {"cp"}, {"tp"}]>
#weight = #cp.layout<#mesh, [{}, {"tp"}]>
#sum = #cp.layout<#mesh, [{}, {"cp"}, {}], partial = {"tp"}>
#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>

// CHECK-LABEL: func.func @out_projection(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x8xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<16x8xf32>
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<1x8x16xf32>
// CHECK:         %[[Z:.*]] = linalg.fill {{.*}} outs(%[[E]]
// CHECK:         %[[Y:.*]] = linalg.contract {{.*}} ins(%[[X]], %[[W]] {{.*}} outs(%[[Z]]
// CHECK-NEXT:    %[[N:.*]] = arith.negf %[[Y]]
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[N]], %[[Y]]
// CHECK-NEXT:    %[[F:.*]] = cp.all_reduce %[[S]] over ["tp"] of #mesh : tensor<1x8x16xf32>
// CHECK-NEXT:    %[[P:.*]] = cp.reduce_scatter %[[S]] over ["tp"] of #mesh {dim = 2 : i64} : tensor<1x8x16xf32> -> tensor<1x8x4xf32>
// CHECK-NEXT:    return %[[F]], %[[P]]
func.func @out_projection(%x: tensor<1x16x32xf32, #columns>,
                          %w: tensor<16x32xf32, #weight>)
    -> (tensor<1x16x16xf32, #rows>, tensor<1x16x16xf32, #columns>)
    attributes {cp.view = "global"} {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x16xf32, #sum>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x16x16xf32, #sum>)
      -> tensor<1x16x16xf32, #sum>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%x, %w : tensor<1x16x32xf32, #columns>, tensor<16x32xf32, #weight>)
      outs(%z : tensor<1x16x16xf32, #sum>) -> tensor<1x16x16xf32, #sum>
  %1 = arith.negf %0 : tensor<1x16x16xf32, #sum>
  %2 = arith.addf %1, %0 : tensor<1x16x16xf32, #sum>
  %full = cp.reshard %2
      : tensor<1x16x16xf32, #sum> to tensor<1x16x16xf32, #rows>
  %part = cp.reshard %2
      : tensor<1x16x16xf32, #sum> to tensor<1x16x16xf32, #columns>
  return %full, %part
      : tensor<1x16x16xf32, #rows>, tensor<1x16x16xf32, #columns>
}

// A sum over a dimension that is cut, onto another partial sum.

// CHECK-LABEL: func.func @row_sums(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<1x8x8xf32>) outs(%{{.*}} : tensor<1x8xf32>)
// CHECK:         cp.all_reduce %{{.*}} over ["tp"] of #mesh : tensor<1x8xf32>
#row = #cp.layout<#mesh, [{}, {"cp"}]>
#rowsum = #cp.layout<#mesh, [{}, {"cp"}], partial = {"tp"}>
func.func @row_sums(%x: tensor<1x16x32xf32, #columns>,
                    %start: tensor<1x16xf32, #rowsum>)
    -> tensor<1x16xf32, #row> attributes {cp.view = "global"} {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, l, i) -> (b, l, i)>,
                       affine_map<(b, l, i) -> (b, l)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<1x16x32xf32, #columns>)
      outs(%start : tensor<1x16xf32, #rowsum>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x16xf32, #rowsum>
  %2 = cp.reshard %0 : tensor<1x16xf32, #rowsum> to tensor<1x16xf32, #row>
  return %2 : tensor<1x16xf32, #row>
}
