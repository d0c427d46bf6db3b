// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" --remarks-filter-missed=cut \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

// Cuts that an op was offered and could not have.

#mesh = #cp.mesh<"cp" = 4>
#channels = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#columns = #cp.layout<#mesh, [{}, {"cp"}]>
#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>

// CHECK: :[[@LINE+17]]:8: remark: [Missed] refused | Category:cut | Function=main
// CHECK-SAME: dim=2, instead="the sequence is cut", layer=embedding, layout="[{}, {}, {"cp"}]", op=cp.rms_norm, operand=0, why="the op needs this dimension whole"
// CHECK: :[[@LINE+18]]:8: remark: [Missed] refused
// CHECK-SAME: dim=2, instead="the sequence is cut", layer=4, {{.*}} operand=0, why="the op takes it in 2 pieces, which the ranks cannot share evenly"
// CHECK: :[[@LINE+22]]:8: remark: [Missed] refused
// CHECK-SAME: dim=2, instead="the sequence is cut", {{.*}} op=linalg.add, operand=0, why="the axis cuts another dimension of the op already"
// CHECK: :[[@LINE+26]]:8: remark: [Missed] refused
// CHECK-SAME: dim=1, instead="every rank has the whole", {{.*}}layout="[{}, {"cp"}]", op=linalg.contract, operand=1, why="the op sums over this dimension"
// CHECK-NOT: remark
func.func @main(%rows: tensor<1x16x16xf32> {cp.sequence = 1 : i64},
    %scale: tensor<16xf32>, %other: tensor<16xf32> {cp.param = "layers.4.norm"},
    %whole: tensor<1x16x16xf32>, %weight: tensor<8x16xf32>,
    %base: tensor<1x16x8xf32>)
    -> (tensor<1x16x16xf32, #channels>, tensor<1x16x16xf32, #channels>,
        tensor<1x16x16xf32, #channels>, tensor<1x16x8xf32>) {
  %cut = cp.reshard %rows : tensor<1x16x16xf32> to tensor<1x16x16xf32, #channels>

  %0 = cp.rms_norm %cut weight(%scale)
      : (tensor<1x16x16xf32, #channels>, tensor<16xf32>)
      -> tensor<1x16x16xf32, #channels>
  %1 = cp.rms_norm %cut weight(%other) {groups = 2}
      : (tensor<1x16x16xf32, #channels>, tensor<16xf32>)
      -> tensor<1x16x16xf32, #channels>
  // Alike operands keep their cut.
  %2 = math.exp %cut : tensor<1x16x16xf32, #channels>
  %out = tensor.empty() : tensor<1x16x16xf32, #channels>
  %3 = linalg.add
      ins(%2, %rows : tensor<1x16x16xf32, #channels>, tensor<1x16x16xf32>)
      outs(%out : tensor<1x16x16xf32, #channels>) -> tensor<1x16x16xf32, #channels>

  %part = cp.reshard %weight : tensor<8x16xf32> to tensor<8x16xf32, #columns>
  // Each rank would add the whole base.
  %4 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%whole, %part : tensor<1x16x16xf32>, tensor<8x16xf32, #columns>)
      outs(%base : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return %0, %1, %3, %4 : tensor<1x16x16xf32, #channels>,
      tensor<1x16x16xf32, #channels>, tensor<1x16x16xf32, #channels>,
      tensor<1x16x8xf32>
}
