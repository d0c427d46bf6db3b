// RUN: %cp-opt %s --cp-accumulate | FileCheck %s
// RUN: %cp-opt %s --cp-accumulate --cp-add-update="optimizer=sgd count=count" | FileCheck %s --check-prefix=STEP
// RUN: %cp-opt %s --cp-accumulate --cp-add-update="optimizer=sgd count=count" --cp-split-update | FileCheck %s --check-prefix=SPLIT

// Loss and count are summed in f64, and nothing is divided yet.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[LOSS:[a-z0-9]+]]: tensor<f64> {cp.accumulates = "loss", cp.name = "accumulated.loss"}
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: tensor<f64> {cp.accumulates = "count", cp.name = "accumulated.count"}
// CHECK-SAME:    %[[SUM:[a-z0-9]+]]: tensor<4x4xf32> {cp.accumulates = "w", cp.name = "accumulated.w"}
// CHECK-SAME:    %[[INDEX:[a-z0-9]+]]: tensor<i64> {cp.name = "micro_batch"})
// CHECK-SAME:    -> (tensor<f64> {cp.name = "loss"}, tensor<f64> {cp.name = "count"}, tensor<4x4xf32> {cp.gradient = "w"},
// CHECK-SAME:        tensor<f64> {cp.updates = "accumulated.loss"}, tensor<f64> {cp.updates = "accumulated.count"}, tensor<4x4xf32> {cp.updates = "accumulated.w"})
// CHECK:         %[[WIDE:.*]] = arith.extf %{{.*}} : tensor<f32> to tensor<f64>
// CHECK:         %[[L:.*]] = cp.accumulate %[[WIDE]] into %[[LOSS]] at(%[[INDEX]])
// CHECK:         %[[C:.*]] = cp.accumulate %{{.*}} into %[[COUNT]] at(%[[INDEX]])
// CHECK:         %[[G:.*]] = cp.accumulate %{{.*}} into %[[SUM]] at(%[[INDEX]])
// CHECK:         return %[[L]], %[[C]], %[[G]], %[[L]], %[[C]], %[[G]]

// One count divides the loss, the norm and what steps.

// STEP-LABEL: func.func @main(
// STEP:         %[[G:.*]] = cp.accumulate {{.*}} -> tensor<4x4xf32>
// STEP:         %[[DIVISOR:.*]] = arith.maximumf
// STEP:         arith.divf %{{.*}}, %[[DIVISOR]]
// STEP:         %[[NORM:.*]] = math.sqrt
// STEP:         arith.divf %[[NORM]], %[[DIVISOR]]
// STEP:         %[[SCALE:.*]] = arith.divf %{{.*}}, %[[DIVISOR]]
// STEP:         cp.sgd %{{.*}} by %[[G]] rate(%{{.*}}) scale(%[[SCALE]])

// SPLIT-LABEL: func.func @main_accumulate(
// SPLIT-SAME:    %{{[a-z0-9]+}}: tensor<4x4xf32>, %{{[a-z0-9]+}}: tensor<f32>, %{{[a-z0-9]+}}: tensor<f32>,
// SPLIT-NOT:     cp.name = "rate"
// SPLIT-SAME:    -> (tensor<f64> {cp.updates = "accumulated.loss"}, tensor<f64> {cp.updates = "accumulated.count"}, tensor<4x4xf32> {cp.updates = "accumulated.w"})
// SPLIT-NOT:     cp.sgd
// SPLIT-LABEL: func.func @main_update(
// SPLIT-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32> {cp.name = "w"}
// SPLIT-SAME:    %[[SUM:[a-z0-9]+]]: tensor<4x4xf32> {cp.accumulates = "w"
// SPLIT-NOT:     cp.name = "micro_batch"
// SPLIT-NOT:     cp.accumulate {{.*}}into
// SPLIT:         cp.sgd %[[W]] by %[[SUM]]
func.func @main(%w: tensor<4x4xf32> {cp.name = "w"}, %gw: tensor<4x4xf32>,
                %loss: tensor<f32>, %count: tensor<f32>)
    -> (tensor<f32> {cp.name = "loss"}, tensor<f32> {cp.name = "count"},
        tensor<4x4xf32> {cp.gradient = "w"}) {
  return %loss, %count, %gw : tensor<f32>, tensor<f32>, tensor<4x4xf32>
}
