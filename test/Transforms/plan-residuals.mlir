// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 mixer=sequence gradients=loss" | FileCheck %s --check-prefix=ALL
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 mixer=sequence gradients=loss memory=10500" --cse | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 mixer=sequence gradients=loss memory=10500" --remarks-filter=residual --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARKS
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=2 gradients=loss memory=1" -o %t 2>&1 | FileCheck %s --check-prefix=LEAST

// Without a limit the backward pass reads what the forward pass made.

// ALL-NOT:     cp.recomputed

// With one it makes the norms again, of what went into the layers, which is kept; the
// product with the weight it does not need. CSE leaves them.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<64x8xf32>
// CHECK:         %[[N0:.*]] = cp.rms_norm %[[X]]
// CHECK:         %[[H:.*]] = arith.addf %[[X]], %{{.*}}
// CHECK:         %[[N1:.*]] = cp.rms_norm %[[H]]
// CHECK:         linalg.reduce
// CHECK-NOT:     %[[N1]]
// CHECK:         %[[A1:.*]] = cp.rms_norm %[[H]] weight(%{{.*}}) {cp.recomputed}
// CHECK:         linalg.generic {{.*}} ins(%[[A1]]
// CHECK:         %[[A0:.*]] = cp.rms_norm %[[X]] weight(%{{.*}}) {cp.recomputed}
// CHECK:         linalg.generic {{.*}} ins(%[[A0]]

// REMARKS: layer {{.*}}layer=0{{.*}}recomputed=cp.rms_norm
// REMARKS: layer {{.*}}layer=1{{.*}}recomputed=cp.rms_norm
// REMARKS: step {{.*}}kept_bytes={{[0-9]+}}, live_bytes={{[0-9]+}}, live_bytes_without={{[0-9]+}}

// LEAST: plan_residuals_c2: the limit is 1 bytes, but a rank needs at least

#x = affine_map<(l, n, k) -> (l, k)>
#w = affine_map<(l, n, k) -> (n, k)>
#y = affine_map<(l, n, k) -> (l, n)>
func.func @main(%x: tensor<128x8xf32> {cp.name = "x", cp.sequence = 0 : i64},
                %n0: tensor<8xf32> {cp.param = "layers.0.norm"},
                %w0: tensor<8x8xf32> {cp.param = "layers.0.w"},
                %n1: tensor<8xf32> {cp.param = "layers.1.norm"},
                %w1: tensor<8x8xf32> {cp.param = "layers.1.w"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x8xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<128x8xf32>) -> tensor<128x8xf32>
  %a0 = cp.rms_norm %x weight(%n0) : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %p0 = linalg.contract indexing_maps = [#x, #w, #y] ins(%a0, %w0 : tensor<128x8xf32>, tensor<8x8xf32>)
      outs(%z : tensor<128x8xf32>) -> tensor<128x8xf32>
  %h = arith.addf %x, %p0 : tensor<128x8xf32>
  %a1 = cp.rms_norm %h weight(%n1) : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %p1 = linalg.contract indexing_maps = [#x, #w, #y] ins(%a1, %w1 : tensor<128x8xf32>, tensor<8x8xf32>)
      outs(%z : tensor<128x8xf32>) -> tensor<128x8xf32>
  %g = arith.addf %h, %p1 : tensor<128x8xf32>
  %s = arith.mulf %g, %g : tensor<128x8xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%s : tensor<128x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  return %loss : tensor<f32>
}
