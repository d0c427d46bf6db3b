// RUN: cp-opt %s --cp-assign-layouts="mesh=ring=2,u=4 axis=ring,u mixer=2d" --split-input-file | FileCheck %s
// RUN: cp-opt %s --cp-shard-pipeline="mesh=ring=2,u=4 axis=ring,u mixer=2d" --split-input-file | FileCheck %s --check-prefix=RANK

// What comes from a mesh of its own splits the axes of the options' mesh. Heads are
// cut over both parts of the last axis, the sequence over the other.

// CHECK: #[[$MESH:.*]] = #cp.mesh<"ring" = 2, "u/0" = 2, "u/1" = 2>
// CHECK-DAG: #[[$BATCH:.*]] = #cp.layout<#[[$MESH]], [{"ring", "u/0"}, {}, {}, {}]>
// CHECK-DAG: #[[$HEADS:.*]] = #cp.layout<#[[$MESH]], [{}, {"ring"}, {"u/0", "u/1"}, {}]>
// CHECK-DAG: #[[$ROWS:.*]] = #cp.layout<#[[$MESH]], [{}, {"ring", "u/0", "u/1"}, {}]>
// CHECK-LABEL: func.func @from_another_mesh(
// CHECK-SAME: %[[X:.*]]: tensor<4x16x8x4xf32, #[[$BATCH]]>
// CHECK-SAME: tensor<4x16x8xf32, #[[$ROWS]]> {cp.sequence = 1 : i64}
// CHECK: %[[COPY:.*]] = linalg.copy ins(%[[X]]
// CHECK: %[[CUT:.*]] = cp.reshard %[[COPY]] : tensor<4x16x8x4xf32, #[[$BATCH]]> to tensor<4x16x8x4xf32, #[[$HEADS]]>
// CHECK: cp.ssd %[[CUT]]
// RANK-LABEL: func.func @from_another_mesh(
// RANK: %[[COPY:.*]] = linalg.copy
// RANK: cp.all_to_all %[[COPY]] over ["u/0"]
// RANK: cp.all_to_all {{.*}} over ["ring"]
// RANK: cp.scan_state {{.*}} over ["ring"]
#images = #cp.mesh<"replica" = 4, "tp" = 2>
func.func @from_another_mesh(
    %x: tensor<4x16x8x4xf32, #cp.layout<#images, [{"replica"}, {}, {}, {}]>>,
    %dt: tensor<4x16x8xf32> {cp.sequence = 1 : i64}, %a: tensor<8xf32>,
    %b: tensor<4x16x8x2xf32> {cp.sequence = 1 : i64})
    -> tensor<4x16x8x4xf32> {
  %whole = tensor.empty() : tensor<4x16x8x4xf32>
  %0 = linalg.copy ins(%x : tensor<4x16x8x4xf32, #cp.layout<#images, [{"replica"}, {}, {}, {}]>>)
      outs(%whole : tensor<4x16x8x4xf32>) -> tensor<4x16x8x4xf32>
  %y, %last = cp.ssd %0 dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<4x16x8x4xf32>, tensor<4x16x8xf32>, tensor<8xf32>,
         tensor<4x16x8x2xf32>, tensor<4x16x8x2xf32>)
      -> (tensor<4x16x8x4xf32>, tensor<4x8x4x2xf32>)
  return %y : tensor<4x16x8x4xf32>
}
