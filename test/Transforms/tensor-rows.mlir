// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2,tp=2 tp=tp tp-rows order=zigzag" \
// RUN:   | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2,tp=2 tp=tp tp-rows gradients=cotangents" \
// RUN:   | FileCheck %s --check-prefix=GRAD
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2,tp=2 tp=tp" \
// RUN:   | FileCheck %s --check-prefix=WHOLE

// Between the projections of a block, whose columns and then rows are cut over tp,
// that axis cuts rows: of 16 tokens each of four ranks norms and adds four. A block
// gathers them, and its sum leaves each rank its own.

// CHECK:         #layout = #cp.layout<#mesh, [{}, {"cp" zigzag, "tp"}, {}]>
// CHECK-LABEL: func.func @block(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x8xf32>
// CHECK:         %[[NORM:.*]] = cp.rms_norm %[[X]] {{.*}} -> tensor<1x4x8xf32>
// CHECK:         %[[ROWS:.*]] = cp.all_gather %[[NORM]] over ["tp"] of #mesh {dim = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
// CHECK:         linalg.contract {{.*}} ins(%[[ROWS]], %{{.*}} : tensor<1x8x8xf32>, tensor<16x8xf32>)
// CHECK:         math.exp %{{.*}} : tensor<1x8x16xf32>
// CHECK:         %[[SUM:.*]] = linalg.contract
// CHECK:         %[[OWN:.*]] = cp.reduce_scatter %[[SUM]] over ["tp"] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32> -> tensor<1x4x8xf32>
// CHECK:         arith.addf %[[X]], %[[OWN]] : tensor<1x4x8xf32>
// CHECK-NOT:     {{ over }}

// Backward the cotangent of the sum is gathered, that of the rows is a sum which leaves
// each rank its own; here both are known early enough to go with the forward pass's. The
// norm's weight has terms on all four ranks, and goes with the other gradients.

// GRAD-LABEL: func.func @block(
// GRAD-SAME:    %[[DY:[a-z0-9]+]]: tensor<1x4x8xf32> {cp.cotangent = "y", cp.layout = #layout, cp.name = "y.cotangent"
// GRAD:         %[[NORM:.*]] = cp.rms_norm
// GRAD:         %[[ROWS:.*]]:2 = cp.all_gather %[[DY]], %[[NORM]] over ["tp"] of #mesh {dim = 1 : i64}
// GRAD-SAME:      -> tensor<1x8x8xf32>, tensor<1x8x8xf32>
// GRAD:         %[[OWN:.*]]:2 = cp.reduce_scatter %{{.*}}, %{{.*}} over ["tp"] of #mesh {dim = 1 : i64}
// GRAD-SAME:      -> tensor<1x4x8xf32>, tensor<1x4x8xf32>
// GRAD:         %{{.*}}, %[[DW:.*]] = cp.rms_norm_grad %{{.*}} weight(%{{.*}}) from %[[OWN]]#1
// GRAD:         cp.all_reduce %[[DW]], %{{.*}}, %{{.*}} over ["cp", "tp"] of #mesh
// GRAD-NOT:     {{ over }}

// WHOLE-LABEL: func.func @block(
// WHOLE-SAME:    %{{[a-z0-9]+}}: tensor<1x8x8xf32>
// WHOLE:         cp.all_reduce %{{.*}} over ["tp"] of #mesh : tensor<1x8x8xf32>
func.func @block(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %norm: tensor<8xf32> {cp.param = "norm"}, %up: tensor<32x8xf32> {cp.param = "up"},
    %down: tensor<8x32xf32> {cp.param = "down"})
    -> (tensor<1x16x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = cp.rms_norm %x weight(%norm)
      : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<1x16x32xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x16x32xf32>) -> tensor<1x16x32xf32>
  %1 = linalg.contract indexing_maps = [
      affine_map<(b, l, n, k) -> (b, l, k)>, affine_map<(b, l, n, k) -> (n, k)>,
      affine_map<(b, l, n, k) -> (b, l, n)>] {cp.parallel = "columns"}
      ins(%0, %up : tensor<1x16x8xf32>, tensor<32x8xf32>)
      outs(%z1 : tensor<1x16x32xf32>) -> tensor<1x16x32xf32>
  %2 = math.exp %1 : tensor<1x16x32xf32>
  %e2 = tensor.empty() : tensor<1x16x8xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %3 = linalg.contract indexing_maps = [
      affine_map<(b, l, n, k) -> (b, l, k)>, affine_map<(b, l, n, k) -> (n, k)>,
      affine_map<(b, l, n, k) -> (b, l, n)>] {cp.parallel = "rows"}
      ins(%2, %down : tensor<1x16x32xf32>, tensor<8x32xf32>)
      outs(%z2 : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %4 = arith.addf %x, %3 : tensor<1x16x8xf32>
  return %4 : tensor<1x16x8xf32>
}
