// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd" | %cp-opt --cp-lower-pipeline=overlap | FileCheck %s
// RUN: %cp-opt %s --cp-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd overlap" | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=4,cp=1 batch=dp params=dp gradients=loss optimizer=sgd" | %cp-opt --cp-lower-pipeline | FileCheck %s --check-prefix=ONCE

// The second weight is gathered while the first is used, and the loss is summed during
// the backward pass. Two weights that one op reads together, cut along different
// dimensions, are two gathers that stand together.

// CHECK-LABEL: llvm.func @main(
// CHECK:         llvm.call @cprt_all_gather(
// CHECK:         llvm.mlir.addressof @cprt_all_gather
// CHECK:         llvm.call @cprt_begin(
// CHECK:         llvm.call @cprt_matmul(
// CHECK:         llvm.call @cprt_wait(
// CHECK:         llvm.mlir.addressof @cprt_all_reduce
// CHECK:         llvm.call @cprt_begin(
// CHECK:         llvm.call @cprt_contract_rows(
// CHECK:         llvm.call @cprt_wait(
// CHECK:         llvm.call @cprt_sgd(
// ONCE-NOT:      @cprt_begin
// ONCE:          llvm.call @cprt_reduce_scatter(
// ONCE-NOT:      @cprt_wait

#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
#v = affine_map<(b, l, n, k, m) -> (b, l, n)>
func.func @main(%x0: tensor<4x1x64xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %w0: tensor<64x64xf32> {cp.param = "layers.0.w"},
                %w1: tensor<62x64xf32> {cp.param = "layers.1.w"},
                %s1: tensor<64x62xf32> {cp.param = "layers.1.s"},
                %w2: tensor<64x62xf32> {cp.param = "head.w"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %e2 = tensor.empty() : tensor<4x1x62xf32>
  %z2 = linalg.fill ins(%f : f32) outs(%e2 : tensor<4x1x62xf32>) -> tensor<4x1x62xf32>
  %x1 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x0, %w0 : tensor<4x1x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %et = tensor.empty() : tensor<62x64xf32>
  %ww = linalg.generic {indexing_maps = [affine_map<(n,k)->(n,k)>, affine_map<(n,k)->(k,n)>, affine_map<(n,k)->(n,k)>], iterator_types=["parallel","parallel"]}
    ins(%w1, %s1 : tensor<62x64xf32>, tensor<64x62xf32>) outs(%et : tensor<62x64xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      linalg.yield %m : f32
  } -> tensor<62x64xf32>
  %x2 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x1, %ww : tensor<4x1x64xf32>, tensor<62x64xf32>)
      outs(%z2 : tensor<4x1x62xf32>) -> tensor<4x1x62xf32>
  %x6 = linalg.contract indexing_maps = [#x, #w, #y] ins(%x2, %w2 : tensor<4x1x62xf32>, tensor<64x62xf32>)
      outs(%z : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %square = arith.mulf %x6, %x6 : tensor<4x1x64xf32>
  %loss = linalg.reduce { arith.addf } ins(%square : tensor<4x1x64xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  return %loss : tensor<f32>
}
