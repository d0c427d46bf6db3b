// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 partial-gradients" --cp-verify-layouts | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden partial-gradients" | FileCheck %s --check-prefix=LOCAL

// Gradients of parameters stay each rank's terms, those that are cut by heads too, among
// zeros: who calls the program adds them up with all others of a model. That of an
// activation is whole, and what ranks hold alike stays so.

#x = affine_map<(b, l, n, k) -> (b, l, k)>
#dy = affine_map<(b, l, n, k) -> (b, l, n)>
#w = affine_map<(b, l, n, k) -> (n, k)>

// CHECK-DAG:   #[[$SUM:.*]] = #cp.layout<#mesh, [{}, {}], partial = {"cp"}>
// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG:   #[[$ALL:.*]] = #cp.layout<#mesh, [{}]>
// CHECK-LABEL: func.func @terms(
// CHECK-SAME:    -> (tensor<6x4xf32, #[[$SUM]]> {cp.gradient = "w"}, tensor<2x8x4xf32, #[[$ROWS]]> {cp.gradient = "x"}, tensor<4xf32, #[[$ALL]]> {cp.gradient = "n"})
// CHECK-NOT:     cp.reshard
// CHECK:         return

// LOCAL-LABEL: func.func @terms(
// LOCAL-NOT:     cp.all_reduce
// LOCAL:         return
func.func @terms(%x: tensor<2x8x4xf32> {cp.name = "x", cp.sequence = 1 : i64},
    %dy: tensor<2x8x6xf32> {cp.sequence = 1 : i64},
    %w: tensor<6x4xf32> {cp.param = "w"}, %n: tensor<4xf32> {cp.param = "n"})
    -> (tensor<6x4xf32> {cp.gradient = "w"}, tensor<2x8x4xf32> {cp.gradient = "x"},
        tensor<4xf32> {cp.gradient = "n"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %dw = linalg.contract indexing_maps = [#dy, #x, #w]
      ins(%dy, %x : tensor<2x8x6xf32>, tensor<2x8x4xf32>)
      outs(%z : tensor<6x4xf32>) -> tensor<6x4xf32>
  %dx = arith.addf %x, %x : tensor<2x8x4xf32>
  %dn = arith.addf %n, %n : tensor<4xf32>
  return %dw, %dx, %dn : tensor<6x4xf32>, tensor<2x8x4xf32>, tensor<4xf32>
}

// A state's gradient is cut by heads: each rank's part stands among zeros.
// LOCAL-LABEL: func.func @heads(
// LOCAL-NOT:     cp.all_gather
// LOCAL:         cp.unslice %{{.*}} over ["cp"]
// LOCAL-NOT:     cp.all_gather
// LOCAL:         return
func.func @heads(%x: tensor<1x8x4x2xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x8x4xf32> {cp.sequence = 1 : i64},
    %a: tensor<4xf32> {cp.param = "A_log"},
    %b: tensor<1x8x4x3xf32> {cp.sequence = 1 : i64},
    %c: tensor<1x8x4x3xf32> {cp.sequence = 1 : i64})
    -> (tensor<4xf32> {cp.gradient = "A_log"}) {
  %y, %s = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x8x4x2xf32>, tensor<1x8x4xf32>, tensor<4xf32>, tensor<1x8x4x3xf32>,
         tensor<1x8x4x3xf32>) -> (tensor<1x8x4x2xf32>, tensor<1x4x2x3xf32>)
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %sum = linalg.reduce ins(%s : tensor<1x4x2x3xf32>) outs(%zero : tensor<4xf32>) dimensions = [0, 2, 3]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
  return %sum : tensor<4xf32>
}
