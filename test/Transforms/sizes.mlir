// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" --split-input-file | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4" --split-input-file | FileCheck %s --check-prefix=RANK

// What goes element by element keeps the sizes that an argument came in; an op that
// adds up over them gets terms, of zeros where a rank holds nothing.

// CHECK-DAG: #[[$GIVEN:.*]] = #cp.layout<{{.*}}, [{}, {"cp" sizes [20, 0, 10, 31]}, {}]>
// CHECK-DAG: #[[$TERMS:.*]] = #cp.layout<{{.*}}, [{}, {}, {}], partial = {"cp"}>
// CHECK-LABEL: func.func @adds_up(
// CHECK-SAME: %[[X:.*]]: tensor<1x61x32xf32, #[[$GIVEN]]>
// CHECK: %[[TANH:.*]] = math.tanh %[[X]] : tensor<1x61x32xf32, #[[$GIVEN]]>
// CHECK: %[[ALL:.*]] = cp.reshard %[[TANH]] : tensor<1x61x32xf32, #[[$GIVEN]]> to tensor<1x61x32xf32, #[[$TERMS]]>
// CHECK: linalg.reduce { arith.addf } ins(%[[ALL]]
// RANK-LABEL: func.func @adds_up(
// RANK-SAME: %[[X:.*]]: tensor<1x31x32xf32>
// RANK: %[[TANH:.*]] = math.tanh %[[X]] : tensor<1x31x32xf32>
// RANK: cp.unslice %[[TANH]] over ["cp"] of #mesh {dim = 1 : i64} : tensor<1x31x32xf32> -> tensor<1x124x32xf32>
// RANK: linalg.reduce
// RANK: cp.all_reduce
#mesh = #cp.mesh<"cp" = 4>
#given = #cp.layout<#mesh, [{}, {"cp" sizes [20, 0, 10, 31]}, {}]>
func.func @adds_up(%x: tensor<1x61x32xf32, #given>)
    -> tensor<1x32xf32> {
  %0 = math.tanh %x : tensor<1x61x32xf32, #given>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32xf32>)
      -> tensor<1x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%0 : tensor<1x61x32xf32, #given>)
      outs(%start : tensor<1x32xf32>) dimensions = [1]
  return %sum : tensor<1x32xf32>
}

// -----

// A merged dimension is cut in as many elements for each of its major factor.

// RANK-LABEL: func.func @merges(
// RANK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
// RANK: return %{{.*}} : tensor<24xf32>
#mesh = #cp.mesh<"cp" = 4>
#given = #cp.layout<#mesh, [{"cp" sizes [1, 4, 0, 2]}, {}]>
#merged = #cp.layout<#mesh, [{"cp" sizes [6, 24, 0, 12]}]>
func.func @merges(%x: tensor<7x6xf32, #given>) -> tensor<42xf32, #merged>
    attributes {cp.view = "global"} {
  %0 = tensor.collapse_shape %x [[0, 1]]
      : tensor<7x6xf32, #given> into tensor<42xf32, #merged>
  return %0 : tensor<42xf32, #merged>
}
