// RUN: cp-opt %s --cp-unify-meshes --split-input-file | FileCheck %s
// RUN: cp-opt %s --cp-shard-pipeline --split-input-file | FileCheck %s --check-prefix=RANK
// RUN: cp-opt %s --cp-unify-meshes --split-input-file --remarks-filter=mesh 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Four replicas hand their batch to two.

#model = #cp.mesh<"dp" = 4, "tp" = 2>
#encoder = #cp.mesh<"dp" = 2, "tp" = 4>
#many = #cp.layout<#model, [{"dp"}, {}]>
#few = #cp.layout<#encoder, [{"dp"}, {}]>
// CHECK: #[[$MESH:.*]] = #cp.mesh<"dp/0" = 2, "dp/1" = 2, "tp" = 2>
// CHECK-DAG: #[[$FEW:.*]] = #cp.layout<#[[$MESH]], [{"dp/0"}, {}]>
// CHECK-DAG: #[[$MANY:.*]] = #cp.layout<#[[$MESH]], [{"dp/0", "dp/1"}, {}]>
// CHECK-LABEL: func.func @fan_in(
// CHECK-SAME: %[[X:.*]]: tensor<8x6xf32, #[[$MANY]]>) -> tensor<8x6xf32, #[[$FEW]]>
// CHECK-NEXT: cp.reshard %[[X]] : tensor<8x6xf32, #[[$MANY]]> to tensor<8x6xf32, #[[$FEW]]>
// RANK-LABEL: func.func @fan_in(
// RANK-SAME: %[[X:.*]]: tensor<2x6xf32>
// RANK-NEXT: cp.all_gather %[[X]] over ["dp/1"] of #{{.*}} {dim = 0 : i64} : tensor<2x6xf32> -> tensor<4x6xf32>
// RANK-NEXT: return
// REMARK: [Passed] unified | Category:mesh | Function=fan_in | axes="dp of dp=4,tp=2: dp/0, dp/1; dp of dp=2,tp=4: dp/0; tp of dp=2,tp=4: dp/1, tp", mesh="dp/0=2,dp/1=2,tp=2", meshes="dp=4,tp=2; dp=2,tp=4"
func.func @fan_in(%x: tensor<8x6xf32, #many>) -> tensor<8x6xf32, #few>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8x6xf32, #many> to tensor<8x6xf32, #few>
  return %0 : tensor<8x6xf32, #few>
}

// -----

// Back, where each keeps its part.

#encoder = #cp.mesh<"dp" = 2, "tp" = 4>
#model = #cp.mesh<"dp" = 4, "tp" = 2>
#few = #cp.layout<#encoder, [{"dp"}, {}]>
#many = #cp.layout<#model, [{"dp"}, {}]>
// CHECK: #[[$MESH:.*]] = #cp.mesh<"dp" = 2, "tp/0" = 2, "tp/1" = 2>
// CHECK-LABEL: func.func @fan_out(
// RANK-LABEL: func.func @fan_out(
// RANK-SAME: %[[X:.*]]: tensor<4x6xf32>
// RANK-NEXT: cp.slice %[[X]] over ["tp/0"] of #{{.*}} {dim = 0 : i64} : tensor<4x6xf32> -> tensor<2x6xf32>
// RANK-NEXT: return
func.func @fan_out(%x: tensor<8x6xf32, #few>) -> tensor<8x6xf32, #many>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8x6xf32, #few> to tensor<8x6xf32, #many>
  return %0 : tensor<8x6xf32, #many>
}

// -----

// Under other names all stays where it is.

#a = #cp.layout<#cp.mesh<"dp" = 2, "tp" = 4>, [{"dp"}, {}]>
#b = #cp.layout<#cp.mesh<"data" = 2, "tensor" = 4>, [{"data"}, {}]>
// CHECK: #[[$MESH:.*]] = #cp.mesh<"dp" = 2, "tp" = 4>
// CHECK-LABEL: func.func @equal(
// RANK-LABEL: func.func @equal(
// RANK-SAME: %[[X:.*]]: tensor<4x6xf32>
// RANK-NEXT: return %[[X]]
func.func @equal(%x: tensor<8x6xf32, #a>) -> tensor<8x6xf32, #b>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8x6xf32, #a> to tensor<8x6xf32, #b>
  return %0 : tensor<8x6xf32, #b>
}

// -----

// Whole sequences of two replicas become parts in zigzag order of one: among the
// ranks of "tp" each has them already.

#few = #cp.layout<#cp.mesh<"dp" = 2, "tp" = 4>, [{"dp"}, {}]>
#sequence = #cp.layout<#cp.mesh<"cp" = 2, "tp" = 4>, [{}, {"cp" zigzag}]>
// CHECK-LABEL: func.func @sequence(
// RANK-LABEL: func.func @sequence(
// RANK-SAME: %[[X:.*]]: tensor<4x8xf32>
// RANK-NEXT: cp.all_to_all %[[X]] over ["dp"] of #{{.*}} {concat_dims = array<i64: 0>, split_cuts = [#cp.cut<"dp" zigzag>], split_dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
// RANK-NEXT: return
func.func @sequence(%x: tensor<8x8xf32, #few>) -> tensor<8x8xf32, #sequence>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8x8xf32, #few> to tensor<8x8xf32, #sequence>
  return %0 : tensor<8x8xf32, #sequence>
}

// -----

// Sums are made before they cross, and each rank gets its part of them alone.

#sum = #cp.layout<#cp.mesh<"dp" = 2, "tp" = 4>, [{"dp"}, {}], partial = {"tp"}>
#many = #cp.layout<#cp.mesh<"dp" = 8>, [{"dp"}, {}]>
// CHECK-LABEL: func.func @sum(
// RANK-LABEL: func.func @sum(
// RANK-SAME: %[[X:.*]]: tensor<4x6xf32>
// RANK-NEXT: cp.reduce_scatter %[[X]] over ["tp"] of #{{.*}} {dim = 0 : i64} : tensor<4x6xf32> -> tensor<1x6xf32>
// RANK-NEXT: return
func.func @sum(%x: tensor<8x6xf32, #sum>) -> tensor<8x6xf32, #many>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8x6xf32, #sum> to tensor<8x6xf32, #many>
  return %0 : tensor<8x6xf32, #many>
}

// -----

// What is dealt out stays so: the parts of an axis deal out one after the other.
// Axes of one rank go, and a constant's value has the type of its result.

#dealt = #cp.layout<#cp.mesh<"one" = 1, "cp" = 4>, [{"one", "cp" striped : 3}]>
#whole = #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{}]>
// CHECK: #[[$MESH:.*]] = #cp.mesh<"cp/0" = 2, "cp/1" = 2>
// CHECK: #[[$DEALT:.*]] = #cp.layout<#[[$MESH]], [{"cp/0" striped : 6, "cp/1" striped : 3}]>
// CHECK-LABEL: func.func @dealt(
// CHECK: arith.constant dense<1.000000e+00> : tensor<24xf32, #[[$DEALT]]>
func.func @dealt(%x: tensor<24xf32, #dealt>) -> tensor<24xf32, #whole>
    attributes {cp.view = "global"} {
  %one = arith.constant dense<1.0> : tensor<24xf32, #dealt>
  %0 = arith.addf %x, %one : tensor<24xf32, #dealt>
  %1 = cp.reshard %0 : tensor<24xf32, #dealt> to tensor<24xf32, #whole>
  return %1 : tensor<24xf32, #whole>
}

// -----

// One mesh stays as it is, and so does what is not global.

#one = #cp.layout<#cp.mesh<"dp" = 1, "cp" = 4>, [{"cp"}]>
// CHECK: #[[$MESH:.*]] = #cp.mesh<"dp" = 1, "cp" = 4>
// CHECK-LABEL: func.func @one_mesh(
func.func @one_mesh(%x: tensor<8xf32, #one>) -> tensor<8xf32, #one>
    attributes {cp.view = "global"} {
  return %x : tensor<8xf32, #one>
}
