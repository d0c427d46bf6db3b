// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=2,tp=4 tp=tp" | FileCheck %s
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=2,tp=5 tp=tp" \
// RUN:   | FileCheck %s --check-prefix=WHOLE
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=8" | FileCheck %s --check-prefix=WHOLE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2,tp=4 tp=tp gradients=loss" \
// RUN:   | FileCheck %s --check-prefix=LOCAL

// Ranks of tensor parallelism share the vocabulary where they divide it.

// WHOLE-NOT:     rows(
// WHOLE:         cp.linear_cross_entropy %{{.*}}, %{{.*}} labels(%{{.*}}) :

// CHECK-LABEL: func.func @loss(
// CHECK:         %[[ROWS:.*]] = arith.constant dense<[0, 24, 48, 72]> : tensor<4xi64>
// CHECK:         %[[LOSSES:.*]], %[[LSE:.*]] = cp.linear_cross_entropy %{{.*}}, %{{.*}} labels(%{{.*}}) rows(%[[ROWS]] of 96) {cp.parallel = "columns"}
// CHECK-SAME:      -> (tensor<1x16x4xf32>, tensor<1x16x4xf32>)
// CHECK:         %[[MOST:.*]] = linalg.generic {{.*}} ins(%[[LSE]] : tensor<1x16x4xf32>)
// CHECK:           arith.maximumf
// CHECK:         %[[TOP:.*]] = cp.stop_gradient %[[MOST]]
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[LSE]], %[[TOP]] :
// CHECK:           math.exp
// CHECK:         %[[LOG:.*]] = math.log %[[SUM]]
// CHECK:         %[[ALL:.*]] = arith.addf %[[TOP]], %[[LOG]]
// CHECK:         %[[LABELS:.*]] = linalg.generic {{.*}} ins(%[[LOSSES]] : tensor<1x16x4xf32>)
// CHECK:         arith.addf %[[ALL]], %[[LABELS]] : tensor<1x16xf32>

// Each rank has a quarter of the rows, knows which, and the cotangent of h is a sum
// over them.

// LOCAL-LABEL: func.func @loss(
// LOCAL-SAME:    %[[H:[a-z0-9]+]]: tensor<1x8x8xf32>
// LOCAL-DAG:     %[[PART:.*]] = cp.slice %{{.*}} over ["tp"] of #mesh {dim = 0 : i64} : tensor<96x8xf32> -> tensor<24x8xf32>
// LOCAL-DAG:     %[[START:.*]] = cp.slice %{{.*}} over ["tp"] of #mesh {dim = 0 : i64} : tensor<4xi64> -> tensor<1xi64>
// LOCAL:         %[[LOSSES:.*]], %[[LSE:.*]] = cp.linear_cross_entropy %[[H]], %[[PART]] labels(%{{.*}}) rows(%[[START]] of 96)
// LOCAL-SAME:      -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
// LOCAL:         cp.all_gather %[[LSE]] over ["tp"] of #mesh {dim = 2 : i64}
// LOCAL:         cp.all_reduce %{{.*}}, %{{.*}} over ["tp"] of #mesh : tensor<1x8xf32>, tensor<1x8xf32>
// LOCAL:         %[[DH:.*]], %[[DW:.*]] = cp.linear_cross_entropy_grad %[[H]], %[[PART]] labels(%{{.*}}) rows(%[[START]] of 96) gave %[[LSE]]
// LOCAL-DAG:     cp.unslice %[[DW]] over ["tp"] of #mesh {dim = 0 : i64}
// LOCAL-DAG:     cp.all_reduce %[[DH]] over ["tp"] of #mesh : tensor<1x8x8xf32>
// LOCAL:         return
func.func @loss(%h: tensor<1x16x8xf32> {cp.sequence = 1 : i64, cp.param = "h"},
    %w: tensor<96x8xf32> {cp.param = "w"},
    %labels: tensor<1x16xi32> {cp.sequence = 1 : i64}) -> tensor<f32> {
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
      : (tensor<1x16x8xf32>, tensor<96x8xf32>, tensor<1x16xi32>)
      -> (tensor<1x16xf32>, tensor<1x16xf32>)
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%losses : tensor<1x16xf32>)
      outs(%zero : tensor<f32>) dimensions = [0, 1]
  return %sum : tensor<f32>
}
