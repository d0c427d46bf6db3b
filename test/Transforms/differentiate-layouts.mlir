// RUN: %cp-opt %s --cp-differentiate=cotangents | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag gradients=cotangents" | FileCheck %s --check-prefix=RANK

// An argument that comes cut as it likes has a gradient that lies so too.

// CHECK: #[[$GIVEN:.*]] = #cp.layout<{{.*}}, [{}, {"cp" sizes [5, 0, 7, 4]}, {}]>
// CHECK-LABEL: @add
// CHECK: %[[START:.*]] = tensor.empty() : tensor<1x16x4xf64, #[[$GIVEN]]>
// CHECK: %[[GRAD:.*]] = linalg.generic {{.*}} outs(%[[START]] : tensor<1x16x4xf64, #[[$GIVEN]]>)
// CHECK: return %{{.*}}, %[[GRAD]] : tensor<1x16x4xf64>, tensor<1x16x4xf64, #[[$GIVEN]]>

// RANK-LABEL: @add
// RANK-SAME: %[[X:[a-z0-9]*]]: tensor<1x4x4xf64>
// RANK-SAME: tensor<1x7x4xf64>
// RANK: return %{{.*}}, %{{.*}} : tensor<1x4x4xf64>, tensor<1x7x4xf64>

#mesh = #cp.mesh<"cp" = 4>
#given = #cp.layout<#mesh, [{}, {"cp" sizes [5, 0, 7, 4]}, {}]>
func.func @add(%x: tensor<1x16x4xf64> {cp.sequence = 1 : i64},
    %unlike: tensor<1x16x4xf64, #given> {cp.param = "unlike"})
    -> (tensor<1x16x4xf64> {cp.sequence = 1 : i64}) {
  %empty = tensor.empty() : tensor<1x16x4xf64>
  %0 = linalg.add
      ins(%x, %unlike : tensor<1x16x4xf64>, tensor<1x16x4xf64, #given>)
      outs(%empty : tensor<1x16x4xf64>) -> tensor<1x16x4xf64>
  return %0 : tensor<1x16x4xf64>
}
