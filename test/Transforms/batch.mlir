// RUN: %cp-opt %s --cp-assign-layouts="mesh=dp=2,cp=4 batch=dp mixer=hidden" | FileCheck %s --check-prefix=HID
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=4 batch=dp gradients=cotangents" | FileCheck %s --check-prefix=GRAD
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=dp=3,cp=4 batch=dp" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=dp=2,cp=4 batch=cp" 2>&1 | FileCheck %s --check-prefix=TWICE

// Ranks along "dp" have sequences of their own, of which nothing travels between
// them. A weight's gradient is a sum over both axes, in one exchange.

// HID-DAG: #[[$ROWS:.*]] = #cp.layout<#mesh, [{"dp"}, {"cp"}, {}]>
// HID-DAG: #[[$CHANNELS:.*]] = #cp.layout<#mesh, [{"dp"}, {}, {"cp"}]>
// HID-LABEL: func.func @main(
// HID-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16x8xf32, #[[$ROWS]]>
// HID:         cp.reshard %[[X]] : {{.*}} to tensor<4x16x8xf32, #[[$CHANNELS]]>
// HID:         %[[C:.*]] = cp.conv1d {{.*}} -> tensor<4x16x8xf32, #[[$CHANNELS]]>
// HID:         %[[Y:.*]] = cp.reshard %[[C]] : {{.*}} to tensor<4x16x8xf32, #[[$ROWS]]>
// HID:         arith.addf %[[X]], %[[Y]] : tensor<4x16x8xf32, #[[$ROWS]]>

// GRAD-LABEL: func.func @main(
// GRAD-SAME:    %{{[a-z0-9]+}}: tensor<2x4x8xf32>
// GRAD:         cp.halo {{.*}} over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<2x4x8xf32>) -> tensor<2x3x8xf32>
// GRAD-NOT:     over ["dp"
// GRAD:         cp.all_reduce %{{.*}} over ["dp", "cp"] of #mesh : tensor<8x4xf32>
// GRAD-NOT:     over ["dp"
// GRAD:         return

// UNEVEN: error: 'func.func' op assign_c7: the batch of argument 0 (4 sequences) must be a multiple of the 3 ranks of axis "dp"; use another number of ranks, or another batch
// TWICE: error: axis 'cp' is used twice; an axis cuts the sequence once, or the batch, or is that of tensor parallelism
func.func @main(%x: tensor<4x16x8xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %w: tensor<8x4xf32> {cp.param = "w"})
    -> (tensor<4x16x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<4x16x8xf32>, tensor<8x4xf32>) -> tensor<4x16x8xf32>
  %1 = arith.addf %x, %0 : tensor<4x16x8xf32>
  return %1 : tensor<4x16x8xf32>
}
