// RUN: %cp-opt %s --convert-cp-to-calls | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#wt = affine_map<(b, l, o, i) -> (i, o)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>

// A runtime op writes fresh tensors, and its sizes and choices become the call's
// attributes.

// CHECK-LABEL: func.func @ops(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x24xf32>, %[[W:[a-z0-9]+]]: tensor<24x4xf32>
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<1x4x24xf32>
// CHECK-NEXT:    %[[C:.*]] = cp.call "conv1d" ins(%[[X]], %[[W]] : {{.*}}) outs(%[[E]] : tensor<1x4x24xf32>) {silu = true} -> tensor<1x4x24xf32>
// CHECK:         %[[G:.*]] = cp.call "all_gather" ins(%[[C]] : {{.*}}) outs(%{{.*}} : tensor<1x16x24xf32>) {
// CHECK-SAME:      dim = 1
// CHECK-NOT:     cp.conv1d
// CHECK-NOT:     cp.all_gather
// CHECK:         return %[[G]]
func.func @ops(%x: tensor<1x4x24xf32>, %w: tensor<24x4xf32>)
    -> tensor<1x16x24xf32> attributes {cp.view = "local"} {
  %0 = cp.conv1d %x weight(%w) {silu = true}
      : (tensor<1x4x24xf32>, tensor<24x4xf32>) -> tensor<1x4x24xf32>
  %1 = cp.all_gather %0 over ["cp"] of #mesh {dim = 1}
      : tensor<1x4x24xf32> -> tensor<1x16x24xf32>
  return %1 : tensor<1x16x24xf32>
}

// An optional input that is not there keeps its place before others.

// CHECK-LABEL: func.func @left_out(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x24xf32>, %[[W:[a-z0-9]+]]: tensor<24x4xf32>, %[[I:[a-z0-9]+]]: tensor<1x3x24xf32>
// CHECK:         cp.call "conv1d" ins(%[[X]], %[[W]], none, %[[I]] : tensor<1x4x24xf32>, tensor<24x4xf32>, tensor<1x3x24xf32>) outs({{.*}}) {silu = false}
func.func @left_out(%x: tensor<1x4x24xf32>, %w: tensor<24x4xf32>,
                    %initial: tensor<1x3x24xf32>) -> tensor<1x4x24xf32>
    attributes {cp.view = "local"} {
  %0 = cp.conv1d %x weight(%w) initial(%initial) {silu = false}
      : (tensor<1x4x24xf32>, tensor<24x4xf32>, tensor<1x3x24xf32>)
      -> tensor<1x4x24xf32>
  return %0 : tensor<1x4x24xf32>
}

// A projection onto zeros overwrites; onto anything else it accumulates. The
// weight may be transposed.

// CHECK-LABEL: func.func @projections(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x8xf32>, %[[W:[a-z0-9]+]]: tensor<16x8xf32>, %[[V:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NOT:     linalg.fill
// CHECK:         %[[E:.*]] = tensor.empty()
// CHECK:         %[[A:.*]] = cp.call "matmul" ins(%[[X]], %[[W]] {{.*}}) outs(%{{.*}}) {accumulate = false, transpose_b = true}
// CHECK:         cp.call "matmul" ins(%[[X]], %[[V]] {{.*}}) outs(%[[A]] {{.*}}) {accumulate = true, transpose_b = false}
func.func @projections(%x: tensor<1x4x8xf32>, %w: tensor<16x8xf32>,
                       %v: tensor<8x16xf32>) -> tensor<1x4x16xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x4x16xf32>)
      -> tensor<1x4x16xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%x, %w : tensor<1x4x8xf32>, tensor<16x8xf32>)
      outs(%z : tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  %1 = linalg.contract indexing_maps = [#x, #wt, #y]
      ins(%x, %v : tensor<1x4x8xf32>, tensor<8x16xf32>)
      outs(%0 : tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}

// A fill with another number is no zero, and one that something else reads
// stays.

// CHECK-LABEL: func.func @fills(
// CHECK-DAG:     %[[ONE:.*]] = linalg.fill ins(%cst
// CHECK-DAG:     %[[ZERO:.*]] = linalg.fill ins(%cst_0
// CHECK:         cp.call "matmul" {{.*}} outs(%[[ONE]] {{.*}}) {accumulate = true
// CHECK:         cp.call "matmul" {{.*}} {accumulate = false
// CHECK:         return %{{.*}}, %{{.*}}, %[[ZERO]]
func.func @fills(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %c1 = arith.constant 1.0 : f32
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %one = linalg.fill ins(%c1 : f32) outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>)
      outs(%one : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>)
      outs(%zero : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %1, %zero : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// A contraction that is no projection, or of two types, is left to loops.

// CHECK-LABEL: func.func @loops(
// CHECK-NOT:     cp.call
// CHECK:         linalg.batch_matmul
// CHECK:         linalg.matmul
func.func @loops(%x: tensor<2x4x8xf32>, %w: tensor<2x8x16xf32>,
                 %y: tensor<2x4x16xf32>, %h: tensor<4x8xbf16>,
                 %k: tensor<8x16xbf16>, %o: tensor<4x16xf32>)
    -> (tensor<2x4x16xf32>, tensor<4x16xf32>) {
  %0 = linalg.batch_matmul ins(%x, %w : tensor<2x4x8xf32>, tensor<2x8x16xf32>)
      outs(%y : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %1 = linalg.matmul ins(%h, %k : tensor<4x8xbf16>, tensor<8x16xbf16>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<2x4x16xf32>, tensor<4x16xf32>
}

// Summaries that combine in a way of their own bring the function that does it.

// CHECK-LABEL: func.func @combine(
// CHECK:         cp.call "scan_state" with "delta_combine" ins({{.*}} : tensor<2x8x8xf32>, tensor<2x8x5xf32>) outs({{.*}}) {algorithm = 0 : i64, axes = array<i64: 0>, batch_dims = 1 : i64, order = 0 : i64, reverse = true, total = false} -> tensor<2x8x8xf32>, tensor<2x8x5xf32>
func.func @combine(%a: tensor<2x8x8xf32>, %s: tensor<2x8x5xf32>)
    -> tensor<2x8x5xf32> attributes {cp.view = "local"} {
  %0:2 = cp.scan_state %a, %s over ["cp"] of #mesh
      {reverse, combine = #cp.combine<"delta_combine", batch_dims = 1>}
      : tensor<2x8x8xf32>, tensor<2x8x5xf32>
  return %0#1 : tensor<2x8x5xf32>
}

// Places are inputs of the runtime's operation, behind others that are left out.
// CHECK-LABEL: func.func @places(
// CHECK:         cp.call "conv1d" ins(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, none, none, %[[P:[a-z0-9]+]] : {{.*}}, tensor<1x4xi64>)
// CHECK:         cp.call "ssd_states" ins({{.*}}, none, %[[P]] : {{.*}}, tensor<1x4xi64>)
// CHECK:         cp.call "attention" ins({{.*}}, %[[P]] : {{.*}}, tensor<1x4xi64>)
func.func @places(%x: tensor<1x4x24xf32>, %w: tensor<24x4xf32>,
    %h: tensor<1x4x2x8xf32>, %dt: tensor<1x4x2xf32>, %a: tensor<2xf32>,
    %p: tensor<1x4xi64>)
    -> (tensor<1x4x24xf32>, tensor<1x2xf32>, tensor<1x4x2x8xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.conv1d %x weight(%w) places(%p)
      : (tensor<1x4x24xf32>, tensor<24x4xf32>, tensor<1x4xi64>)
      -> tensor<1x4x24xf32>
  %decay, %state, %chunks, %delta = cp.ssd_states %h dt(%dt) A_log(%a) B(%h)
      places(%p) {chunk_size = 8}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2xf32>, tensor<2xf32>,
         tensor<1x4x2x8xf32>, tensor<1x4xi64>)
      -> (tensor<1x2xf32>, tensor<1x2x8x8xf32>, tensor<1x1x2x8x8xf32>,
          tensor<1x4x2xf32>)
  %o, %lse = cp.attention %h, %h, %h places(%p)
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>,
         tensor<1x4xi64>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return %0, %decay, %o
      : tensor<1x4x24xf32>, tensor<1x2xf32>, tensor<1x4x2x8xf32>
}

// A ring has its group, and orders along it; forward and back.
// CHECK-LABEL: func.func @ring(
// CHECK:         cp.call "ring_attention" ins({{.*}}, %[[P:[a-z0-9]+]] : {{.*}}, tensor<1x4xi64>) {{.*}} {axes = array<i64: 0>, causal = true, orders = array<i64: 1>
// CHECK:         cp.call "ring_attention_grad" ins({{.*}}, none, %[[P]] : {{.*}}, tensor<1x4xi64>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x2x8xbf16>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) {axes = array<i64: 0>, causal = true, orders = array<i64: 1>
// CHECK:         cp.call "unslice"
func.func @ring(%q: tensor<1x4x2x8xbf16>, %k: tensor<1x4x1x8xbf16>,
    %p: tensor<1x4xi64>, %h: tensor<3xf32>)
    -> (tensor<1x4x1x8xf32>, tensor<12xf32>) attributes {cp.view = "local"} {
  %o, %lse = cp.ring_attention %q, %k, %k places(%p)
      over ["cp" zigzag] of #mesh
      : (tensor<1x4x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>,
         tensor<1x4xi64>) -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
  %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k places(%p)
      gave %o, %lse from %o over ["cp" zigzag] of #mesh
      : (tensor<1x4x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>,
         tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>, tensor<1x4x2x8xbf16>,
         tensor<1x4xi64>)
      -> (tensor<1x4x2x8xbf16>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>)
  %0 = cp.unslice %h over ["cp"] of #mesh {dim = 0 : i64}
      : tensor<3xf32> -> tensor<12xf32>
  return %dk, %0 : tensor<1x4x1x8xf32>, tensor<12xf32>
}

// A sum over all rows of two tensors, such as a weight's gradient, into what sums
// of their elements are kept in; whichever of the two gives the result's rows.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8x4xbf16>, %[[DY:[a-z0-9]+]]: tensor<2x8x6xbf16>
// CHECK:         %[[W:.*]] = cp.call "contract_rows" ins(%[[DY]], %[[X]] : tensor<2x8x6xbf16>, tensor<2x8x4xbf16>) outs(%{{.*}} : tensor<6x4xf32>) {accumulate = false}
// CHECK:         cp.call "contract_rows" ins(%[[X]], %[[DY]] : tensor<2x8x4xbf16>, tensor<2x8x6xbf16>) outs(%{{.*}} : tensor<4x6xf32>) {accumulate = true}
// CHECK:         linalg.contract
func.func @rows(%x: tensor<2x8x4xbf16>, %dy: tensor<2x8x6xbf16>, %start: tensor<4x6xf32>)
    -> (tensor<6x4xf32>, tensor<4x6xf32>, tensor<6x4xbf16>) {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, l, n, k) -> (b, l, k)>,
                       affine_map<(b, l, n, k) -> (b, l, n)>,
                       affine_map<(b, l, n, k) -> (n, k)>],
      iterator_types = ["reduction", "reduction", "parallel", "parallel"]}
      ins(%x, %dy : tensor<2x8x4xbf16>, tensor<2x8x6xbf16>) outs(%z : tensor<6x4xf32>) {
  ^bb0(%a: bf16, %d: bf16, %sum: f32):
    %wide = arith.extf %d : bf16 to f32
    %other = arith.extf %a : bf16 to f32
    %m = arith.mulf %wide, %other : f32
    %t = arith.addf %sum, %m : f32
    linalg.yield %t : f32
  } -> tensor<6x4xf32>
  %1 = linalg.contract indexing_maps = [
      affine_map<(n, k, b, l) -> (b, l, n)>, affine_map<(n, k, b, l) -> (b, l, k)>,
      affine_map<(n, k, b, l) -> (n, k)>]
      ins(%x, %dy : tensor<2x8x4xbf16>, tensor<2x8x6xbf16>)
      outs(%start : tensor<4x6xf32>) -> tensor<4x6xf32>
  // Sums of such numbers are f32.
  %zero = arith.constant 0.0 : bf16
  %e1 = tensor.empty() : tensor<6x4xbf16>
  %z1 = linalg.fill ins(%zero : bf16) outs(%e1 : tensor<6x4xbf16>) -> tensor<6x4xbf16>
  %2 = linalg.contract indexing_maps = [
      affine_map<(n, k, b, l) -> (b, l, n)>, affine_map<(n, k, b, l) -> (b, l, k)>,
      affine_map<(n, k, b, l) -> (n, k)>]
      ins(%dy, %x : tensor<2x8x6xbf16>, tensor<2x8x4xbf16>)
      outs(%z1 : tensor<6x4xbf16>) -> tensor<6x4xbf16>
  return %0, %1, %2 : tensor<6x4xf32>, tensor<4x6xf32>, tensor<6x4xbf16>
}

// A cotangent of what was projected: its adjoint has the weight first.
// CHECK-LABEL: func.func @weight_first(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<16x8xf32>, %[[DY:[a-z0-9]+]]: tensor<2x4x16xf32>
// CHECK:         cp.call "matmul" ins(%[[DY]], %[[W]] : {{.*}}) outs(%{{.*}} : tensor<2x4x8xf32>) {accumulate = false, transpose_b = false}
func.func @weight_first(%w: tensor<16x8xf32>, %dy: tensor<2x4x16xf32>)
    -> tensor<2x4x8xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x8xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %0 = linalg.contract indexing_maps = [
      affine_map<(b, l, n, k) -> (n, k)>, affine_map<(b, l, n, k) -> (b, l, n)>,
      affine_map<(b, l, n, k) -> (b, l, k)>]
      ins(%w, %dy : tensor<16x8xf32>, tensor<2x4x16xf32>)
      outs(%z : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}
