// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=loss optimizer=adamw" | FileCheck %s
// RUN: %cp-opt %s --cp-pipeline="mesh=cp=4 mixer=sequence gradients=loss optimizer=sgd" | FileCheck %s --check-prefix=LOW
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=loss optimizer=sgd" --convert-cp-to-calls --cp-prepare-entry | FileCheck %s --check-prefix=ENTRY

// An optimizer without gradients of whole tensors is no request that is lost.
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=4 optimizer=sgd" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=4 gradients=loss differentiate=local optimizer=sgd" 2>&1 | FileCheck %s --check-prefix=LOCAL
// NONE: add_update_c1: has no result with cp.gradient; run cp-differentiate first
// LOCAL: cp-shard-pipeline: an optimizer takes up gradients of whole tensors

// The loss and the gradient are one sum over the ranks; behind it each rank steps
// the same way. What is new lies as what it updates.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<6x4xf32> {cp.layout = #[[$WHOLE:[a-z0-9]+]], cp.param = "w"}
// CHECK-SAME:    cp.layout = #[[$WHOLE]], cp.name = "exp_avg.w"
// CHECK-SAME:    cp.layout = #[[$WHOLE]], cp.name = "exp_avg_sq.w"
// CHECK-SAME:    cp.layout = #[[$WHOLE]], cp.updates = "w"
// CHECK-NOT:     cp.all_
// CHECK:         %[[SUM:.*]]:2 = cp.all_reduce %{{.*}}, %{{.*}} over ["cp"] of #mesh : tensor<6x4xf32>, tensor<f32>
// CHECK-NOT:     cp.all_
// CHECK:         cp.squared_norm %[[SUM]]#0
// CHECK:         cp.adamw %[[W]] by %[[SUM]]#0
// CHECK-NOT:     cp.all_
// CHECK:         return %[[SUM]]#1

// The argument is the caller's buffer, and so is what the op writes.

// ENTRY-LABEL: func.func @main(
// ENTRY-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// ENTRY-SAME:    %[[W:[a-z0-9]+]]: memref<6x4xf32>
// ENTRY:         %[[OLD:.*]] = bufferization.to_tensor %[[W]] restrict writable
// ENTRY:         %[[NEW:.*]] = cp.call "sgd" elementwise ins(%[[OLD]], {{.*}} outs(%[[OLD]] :
// ENTRY:         bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[W]]

// Nothing is copied behind the step.

// LOW:           llvm.call @cprt_sgd(
// LOW-NEXT:      llvm.return

#x = affine_map<(l, n, k) -> (l, k)>
#w = affine_map<(l, n, k) -> (n, k)>
#y = affine_map<(l, n, k) -> (l, n)>
func.func @main(%x: tensor<16x4xf32> {cp.name = "x", cp.sequence = 0 : i64},
                %w: tensor<6x4xf32> {cp.param = "w"}) -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x6xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<16x4xf32>, tensor<6x4xf32>)
      outs(%z : tensor<16x6xf32>) -> tensor<16x6xf32>
  %s = arith.mulf %p, %p : tensor<16x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%s : tensor<16x6xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  return %loss : tensor<f32>
}
