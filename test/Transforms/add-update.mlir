// RUN: %cp-opt %s --cp-add-update="weight-decay=0.1" | FileCheck %s
// RUN: %cp-opt %s --cp-add-update="optimizer=sgd" | FileCheck %s --check-prefix=SGD

// One dimension does not decay, nor what says so. Parameters in bf16 have masters.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32> {cp.name = "x"}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32> {cp.name = "w"}
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<4xbf16> {cp.name = "b"}
// CHECK-SAME:    %[[N:[a-z0-9]+]]: tensor<4x4xf32> {cp.name = "n", cp.no_decay}
// CHECK-SAME:    %[[MW:[a-z0-9]+]]: tensor<4x4xf32> {cp.name = "exp_avg.w", cp.state = "w"}
// CHECK-SAME:    %[[VW:[a-z0-9]+]]: tensor<4x4xf32> {cp.name = "exp_avg_sq.w", cp.state = "w"}
// CHECK-SAME:    %[[MB:[a-z0-9]+]]: tensor<4xf32> {cp.name = "master.b", cp.state = "b"}
// CHECK-SAME:    cp.name = "exp_avg.b"
// CHECK-SAME:    cp.name = "exp_avg_sq.b"
// CHECK-SAME:    cp.name = "exp_avg.n"
// CHECK-SAME:    cp.name = "exp_avg_sq.n"
// CHECK-SAME:    %[[RATE:[a-z0-9]+]]: tensor<f64> {cp.name = "rate"}
// CHECK-SAME:    %[[CLIP:[a-z0-9]+]]: tensor<f64> {cp.name = "clip"}
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {cp.name = "step"})
// CHECK-SAME:    -> (tensor<f32> {cp.name = "loss"}
// CHECK-SAME:        tensor<f64> {cp.name = "grad_norm"}
// CHECK-SAME:        tensor<4x4xf32> {cp.updates = "w"}
// CHECK-SAME:        {cp.updates = "exp_avg.w"}
// CHECK-SAME:        {cp.updates = "exp_avg_sq.w"}
// CHECK-SAME:        tensor<4xbf16> {cp.updates = "b"}
// CHECK-SAME:        {cp.updates = "master.b"}
// CHECK:         %[[SW:.*]] = cp.squared_norm
// CHECK:         %[[SB:.*]] = cp.squared_norm
// CHECK:         %[[SN:.*]] = cp.squared_norm
// CHECK:         %[[SUM:.*]] = cp.sum %[[SW]], %[[SB]], %[[SN]]
// CHECK:         %[[NORM:.*]] = math.sqrt %[[SUM]]
// CHECK:         arith.divf %[[CLIP]]
// CHECK:         arith.minimumf
// CHECK:         arith.subf %[[NORM]], %[[NORM]]
// CHECK:         %[[SCALE:.*]] = arith.addf
// CHECK:         %[[UW:.*]], %{{.*}}, %{{.*}} = cp.adamw %[[W]] by %{{.*}} moments(%[[MW]], %[[VW]]) rate(%[[RATE]]) step(%[[STEP]]) scale(%[[SCALE]]) {weight_decay = 1.000000e-01 : f64}
// CHECK:         %[[UB:.*]], %{{.*}}, %{{.*}}, %[[LOW:.*]] = cp.adamw %[[MB]] by
// CHECK-NOT:     weight_decay
// CHECK:         cp.adamw %[[N]] by
// CHECK-NOT:     weight_decay
// CHECK:         return %{{.*}}, %[[NORM]], %[[UW]], %{{.*}}, %{{.*}}, %[[LOW]],

// SGD-LABEL: func.func @main(
// SGD-NOT:     exp_avg
// SGD-NOT:     cp.name = "step"
// SGD:         %{{.*}} = cp.sgd %{{.*}} by
// SGD:         %{{.*}}, %{{.*}} = cp.sgd %{{.*}} by
// SGD-SAME:      -> (tensor<4xf32>, tensor<4xbf16>)
// SGD:         cp.sgd
func.func @main(%x: tensor<4xf32> {cp.name = "x"}, %w: tensor<4x4xf32> {cp.name = "w"},
                %b: tensor<4xbf16> {cp.name = "b"},
                %n: tensor<4x4xf32> {cp.name = "n", cp.no_decay},
                %gw: tensor<4x4xf32>, %gb: tensor<4xf32>, %loss: tensor<f32>)
    -> (tensor<f32> {cp.name = "loss"}, tensor<4x4xf32> {cp.gradient = "w"},
        tensor<4xf32> {cp.gradient = "b"}, tensor<4x4xf32> {cp.gradient = "n"}) {
  return %loss, %gw, %gb, %gw
      : tensor<f32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
