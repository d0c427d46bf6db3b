// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" --cp-verify-layouts | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4" | FileCheck %s --check-prefix=LOCAL

// A weight's gradient is a sum over tokens: each rank adds up its own, and what
// is made of such sums by additions is one. The ranks' sums are added up where
// the gradients leave the function, all in one exchange; no activation is
// gathered.

#x = affine_map<(b, l, n, k) -> (b, l, k)>
#dy = affine_map<(b, l, n, k) -> (b, l, n)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#all = affine_map<(b, l, n) -> (b, l, n)>
#row = affine_map<(b, l, n) -> (n)>

// CHECK-DAG:   #[[$SUM:.*]] = #cp.layout<#mesh, [{}, {}], partial = {"cp"}>
// CHECK-DAG:   #[[$ROW:.*]] = #cp.layout<#mesh, [{}], partial = {"cp"}>
// CHECK-DAG:   #[[$WHOLE:.*]] = #cp.layout<#mesh, [{}, {}]>
// CHECK-LABEL: func.func @weights(
// CHECK-NOT:     cp.reshard
// CHECK:         %[[D:.*]] = linalg.contract {{.*}} -> tensor<6x4xf32, #[[$SUM]]>
// CHECK-NOT:     cp.reshard
// CHECK:         %[[TWICE:.*]] = arith.addf %[[D]], %[[D]] : tensor<6x4xf32, #[[$SUM]]>
// CHECK-NOT:     cp.reshard
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<6xf32, #[[$ROW]]>)
// CHECK-NOT:     cp.reshard
// CHECK:         %{{.*}}, %[[N:.*]] = cp.rms_norm_grad {{.*}} -> (tensor<2x8x4xf32, #{{.*}}>, tensor<4xf32, #[[$ROW]]>)
// CHECK-NOT:     cp.reshard
// CHECK:         %[[T:.*]] = cp.embedding_grad {{.*}} -> tensor<9x4xf32, #[[$SUM]]>
// CHECK-DAG:     cp.reshard %[[TWICE]] : tensor<6x4xf32, #[[$SUM]]> to tensor<6x4xf32, #[[$WHOLE]]>
// CHECK-DAG:     cp.reshard %[[B]]
// CHECK-DAG:     cp.reshard %[[N]]
// CHECK-DAG:     cp.reshard %[[T]]
// CHECK-NEXT:    return

// LOCAL-LABEL: func.func @weights(
// LOCAL-NOT:     cp.all_gather
// LOCAL:         cp.all_reduce %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} over ["cp"] of #mesh : tensor<6x4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<9x4xf32>
// LOCAL-NEXT:    return
func.func @weights(%x: tensor<2x8x4xf32> {cp.sequence = 1 : i64},
    %dy: tensor<2x8x6xf32> {cp.sequence = 1 : i64},
    %dn: tensor<2x8x4xf32> {cp.sequence = 1 : i64},
    %ids: tensor<2x8xi32> {cp.sequence = 1 : i64},
    %w: tensor<6x4xf32> {cp.param = "w"}, %b: tensor<6xf32> {cp.param = "b"},
    %n: tensor<4xf32> {cp.param = "n"}, %t: tensor<9x4xf32> {cp.param = "t"})
    -> (tensor<6x4xf32> {cp.gradient = "w"}, tensor<6xf32> {cp.gradient = "b"},
        tensor<4xf32> {cp.gradient = "n"}, tensor<9x4xf32> {cp.gradient = "t"}) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %dw = linalg.contract indexing_maps = [#dy, #x, #w]
      ins(%dy, %x : tensor<2x8x6xf32>, tensor<2x8x4xf32>)
      outs(%z : tensor<6x4xf32>) -> tensor<6x4xf32>
  %twice = arith.addf %dw, %dw : tensor<6x4xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %z1 = linalg.fill ins(%f : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %db = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%dy : tensor<2x8x6xf32>) outs(%z1 : tensor<6xf32>) {
  ^bb0(%d: f32, %sum: f32):
    %0 = math.tanh %d : f32
    %1 = arith.addf %0, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  %dx, %dnorm = cp.rms_norm_grad %x weight(%n) from %dn
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<4xf32>)
      -> (tensor<2x8x4xf32>, tensor<4xf32>)
  %dt = cp.embedding_grad %ids from %dx
      : (tensor<2x8xi32>, tensor<2x8x4xf32>) -> tensor<9x4xf32>
  return %twice, %db, %dnorm, %dt
      : tensor<6x4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<9x4xf32>
}

// What is made of a sum by anything but additions wants it whole.

// CHECK-LABEL: func.func @rounded(
// CHECK:         %[[S:.*]] = linalg.reduce
// CHECK:         %[[H:.*]] = arith.negf %[[S]] : tensor<6xf32, #[[$ROW]]>
// CHECK-NEXT:    %[[F:.*]] = cp.reshard %[[H]]
// CHECK:         arith.truncf %[[F]]
func.func @rounded(%dy: tensor<8x6xf32> {cp.sequence = 0 : i64}) -> tensor<6xbf16> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.reduce ins(%dy : tensor<8x6xf32>) outs(%z : tensor<6xf32>) dimensions = [0]
      (%in: f32, %init: f32) {
        %0 = arith.addf %in, %init : f32
        linalg.yield %0 : f32
      }
  %h = arith.negf %s : tensor<6xf32>
  %r = arith.truncf %h : tensor<6xf32> to tensor<6xbf16>
  return %r : tensor<6xbf16>
}

// Upstream's products are of equal types, so a sum times what is whole cannot be
// written: it is made before.

// CHECK-LABEL: func.func @scaled(
// CHECK:         %[[S:.*]] = linalg.reduce
// CHECK:         %[[F:.*]] = cp.reshard %[[S]]
// CHECK:         arith.mulf %[[F]]
func.func @scaled(%dy: tensor<8x6xf32> {cp.sequence = 0 : i64}) -> tensor<6xf32> {
  %f = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.reduce ins(%dy : tensor<8x6xf32>) outs(%z : tensor<6xf32>) dimensions = [0]
      (%in: f32, %init: f32) {
        %0 = arith.addf %in, %init : f32
        linalg.yield %0 : f32
      }
  %h = arith.mulf %s, %half : tensor<6xf32>
  return %h : tensor<6xf32>
}

// A comparison is made again where it is needed: truth values do not travel.

// LOCAL-LABEL: func.func @compared(
// LOCAL-SAME:    %[[X:.*]]: tensor<1x8x8xf32>
// LOCAL:         %[[CUT:.*]] = cp.slice %[[X]]
// LOCAL:         %[[ABOVE:.*]] = arith.cmpf ogt, %[[CUT]], %{{.*}} : tensor<1x8x2xf32>
// LOCAL:         linalg.generic {{.*}} ins(%[[ABOVE]], %{{.*}} : tensor<1x8x2xi1>, tensor<1x8x2xf32>)
#each = affine_map<(b, l, c) -> (b, l, c)>
#heads = #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {"cp"}]>
func.func @compared(%x: tensor<1x8x8xf32>, %d: tensor<1x8x8xf32, #heads>)
    -> tensor<1x8x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<1x8x8xf32>
  %above = arith.cmpf ogt, %x, %zero : tensor<1x8x8xf32>
  %e = tensor.empty() : tensor<1x8x8xf32>
  %0 = linalg.generic {
      indexing_maps = [#each, #each, #each],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%above, %d : tensor<1x8x8xi1>, tensor<1x8x8xf32, #heads>)
      outs(%e : tensor<1x8x8xf32>) {
    ^bb0(%a: i1, %b: f32, %out: f32):
      %c = arith.constant 0.0 : f32
      %1 = arith.select %a, %b, %c : f32
      linalg.yield %1 : f32
  } -> tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}
