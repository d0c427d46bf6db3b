// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=2 order=zigzag mixer=sequence attention=ring" | FileCheck %s
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=2,one=1 axis=cp,one order=zigzag mixer=sequence attention=ring" | FileCheck %s

// Adjoints on a sequence that is cut in zigzag order, which stays as it is; an
// axis of one rank changes nothing.

!q = tensor<2x8x4x3xf32>
!kv = tensor<2x8x2x3xf32>

// Keys and values go round again, and their cotangents with them.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME:      %[[Q:.*]]: tensor<2x4x4x3xf32> {{.*}}, %[[K:.*]]: tensor<2x4x2x3xf32> {{.*}}, %[[V:.*]]: tensor<2x4x2x3xf32> {{.*}}, %[[DY:[a-z0-9]*]]: tensor<2x4x4x3xf32>
// CHECK:         %[[Y:.*]], %[[LSE:.*]] = cp.ring_attention %[[Q]], %[[K]], %[[V]]
// CHECK-NEXT:    %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = cp.ring_attention_grad %[[Q]], %[[K]], %[[V]] gave %[[Y]], %[[LSE]] from %[[DY]] over ["cp" zigzag{{.*}}] of #mesh :
// CHECK-NEXT:    return %[[DQ]], %[[DK]], %[[DV]]
func.func @attention(%q: !q {cp.name = "q", cp.sequence = 1 : i64},
    %k: !kv {cp.name = "k", cp.sequence = 1 : i64},
    %v: !kv {cp.name = "v", cp.sequence = 1 : i64},
    %dy: !q {cp.sequence = 1 : i64}) -> (!q {cp.gradient = "q"},
    !kv {cp.gradient = "k"}, !kv {cp.gradient = "v"}) {
  %y, %lse = cp.attention %q, %k, %v : (!q, !kv, !kv) -> (!q, tensor<2x4x8xf32>)
  %dq, %dk, %dv = cp.attention_grad %q, %k, %v gave %y, %lse from %dy
      : (!q, !kv, !kv, !q, tensor<2x4x8xf32>, !q) -> (!q, !kv, !kv)
  return %dq, %dk, %dv : !q, !kv, !kv
}

// -----

// Both parts of a rank are elements of a batch. A part has two rows, so that
// what it was lent came from the two parts before it.
// CHECK-LABEL: func.func @conv1d(
// CHECK:         cp.halo %{{.*}} initial(%{{.*}}) over ["cp" zigzag] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x4x2xf32>, tensor<1x3x2xf32>) -> tensor<1x6x2xf32>
// CHECK:         %{{.*}}, %[[DW:.*]], %{{.*}}, %{{.*}} = cp.conv1d_grad {{.*}} : (tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<2x2x2xf32>, tensor<2x3x2xf32>)
// CHECK-NEXT:    cp.all_reduce %[[DW]] over ["cp"
// CHECK:         cp.halo %{{.*}} over ["cp" zigzag] of #mesh {after = 6 : i64, dim = 1 : i64} : (tensor<1x6x2xf32>) -> tensor<1x12x2xf32>
// CHECK-NOT:     cp.reorder
// CHECK:         return
func.func @conv1d(%x: tensor<1x8x2xf32> {cp.sequence = 1 : i64},
    %w: tensor<2x4xf32>, %rows: tensor<1x3x2xf32>,
    %dy: tensor<1x8x2xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x8x2xf32> {cp.sequence = 1 : i64}, tensor<2x4xf32>) {
  %dx, %dw, %db, %drows = cp.conv1d_grad %x weight(%w) initial(%rows) from %dy
      : (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<1x8x2xf32>, tensor<1x3x2xf32>)
      -> (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<1x3x2xf32>)
  return %dx, %dw : tensor<1x8x2xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @ssd(
// CHECK:         %[[D:.*]], %[[S:.*]], %{{.*}}, %{{.*}} = cp.ssd_states
// CHECK:         %{{.*}}, %[[BEFORE:.*]] = cp.scan_state %[[D]], %[[S]] over ["cp" zigzag] of #mesh :
// CHECK:         %[[DS:.*]] = cp.ssd_grad_states
// CHECK:         %{{.*}}, %[[BEHIND:.*]] = cp.scan_state %[[D]], %[[DS]] over ["cp" zigzag] of #mesh {reverse} :
// CHECK:         cp.ssd_grad {{.*}} initial(%[[BEFORE]]) from %{{.*}} and %[[BEHIND]]
// CHECK-NOT:     cp.reorder
func.func @ssd(%x: tensor<1x8x2x4xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x8x2xf32> {cp.sequence = 1 : i64}, %a: tensor<2xf32>,
    %b: tensor<1x8x2x3xf32> {cp.sequence = 1 : i64},
    %dy: tensor<1x8x2x4xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x8x2x4xf32> {cp.sequence = 1 : i64}, tensor<2xf32>) {
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %dstate = cp.ssd_grad %x dt(%dt)
      A_log(%a) B(%b) C(%b) from %dy {chunk_size = 4 : i64}
      : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
         tensor<1x8x2x3xf32>, tensor<1x8x2x3xf32>, tensor<1x8x2x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<2xf32>,
          tensor<1x8x2x3xf32>, tensor<1x8x2x3xf32>, tensor<2x4xf32>,
          tensor<2xf32>, tensor<1x2x4x3xf32>)
  return %dx, %da : tensor<1x8x2x4xf32>, tensor<2xf32>
}
