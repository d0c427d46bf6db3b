// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=2 gradients=loss memory=1" 2>&1 \
// RUN:   | FileCheck %s

// Products and bytes that 64 bits do not count are more than any limit.

// CHECK: error: 'func.func' op plan_residuals_c2: the limit is 1 bytes, but a rank needs at least {{[0-9]+}} at one time however much is computed again
#x = affine_map<(l, n, k) -> (l, k)>
#w = affine_map<(l, n, k) -> (n, k)>
#y = affine_map<(l, n, k) -> (l, n)>
func.func @main(%x: tensor<128x2147483648xf32> {cp.name = "x", cp.sequence = 0 : i64},
                %n0: tensor<2147483648xf32> {cp.param = "alloc"},
                %w0: tensor<2147483648x2147483648xf32> {cp.param = "layers.0.w"},
                %n1: tensor<2147483648xf32> {cp.param = "layers.1.norm"},
                %w1: tensor<2147483648x2147483648xf32> {cp.param = "layers.1.w"})
    -> (tensor<f32> {cp.name = "loss"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x2147483648xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<128x2147483648xf32>) -> tensor<128x2147483648xf32>
  %a0 = cp.rms_norm %x weight(%n0) : (tensor<128x2147483648xf32>, tensor<2147483648xf32>) -> tensor<128x2147483648xf32>
  %p0 = linalg.contract indexing_maps = [#x, #w, #y] ins(%a0, %w0 : tensor<128x2147483648xf32>, tensor<2147483648x2147483648xf32>)
      outs(%z : tensor<128x2147483648xf32>) -> tensor<128x2147483648xf32>
  %h = arith.addf %x, %p0 : tensor<128x2147483648xf32>
  %a1 = cp.rms_norm %h weight(%n1) : (tensor<128x2147483648xf32>, tensor<2147483648xf32>) -> tensor<128x2147483648xf32>
  %p1 = linalg.contract indexing_maps = [#x, #w, #y] ins(%a1, %w1 : tensor<128x2147483648xf32>, tensor<2147483648x2147483648xf32>)
      outs(%z : tensor<128x2147483648xf32>) -> tensor<128x2147483648xf32>
  %g = arith.addf %h, %p1 : tensor<128x2147483648xf32>
  %s = arith.mulf %g, %g : tensor<128x2147483648xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%s : tensor<128x2147483648xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  return %loss : tensor<f32>
}
