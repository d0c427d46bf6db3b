// RUN: cp-opt %s --cp-shard-pipeline="mesh=cp=2,tp=2 tp=tp tp-rows order=zigzag" | FileCheck %s
// RUN: cp-run %s --ranks=1 --quiet --outputs=%t.safetensors
// RUN: cp-run %s --mesh=cp=2,tp=2 --tp=tp --tp-rows --order=zigzag --quiet --check-against=%t.safetensors

// Two projections behind each other are both marked to be cut by columns. The second
// one's input comes cut over the axis: it is a sum over it, by rows.
// CHECK-LABEL: func.func @block
// CHECK-DAG:     %[[DOWN:.*]] = cp.slice %{{.*}} over ["tp"] of #mesh {dim = 1 : i64} : tensor<8x32xf32> -> tensor<8x16xf32>
// CHECK:         %[[Z:.*]] = math.exp %{{.*}} : tensor<1x8x16xf32>
// CHECK:         %[[TERMS:.*]] = linalg.contract {{.*}} ins(%[[Z]], %[[DOWN]] :
// CHECK:         cp.reduce_scatter %[[TERMS]] over ["tp"] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32> -> tensor<1x4x8xf32>
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
      affine_map<(b, l, n, k) -> (b, l, n)>] {cp.parallel = "columns"}
      ins(%2, %down : tensor<1x16x32xf32>, tensor<8x32xf32>)
      outs(%z2 : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %4 = arith.addf %x, %3 : tensor<1x16x8xf32>
  return %4 : tensor<1x16x8xf32>
}
