// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=4 batch=dp" \
// RUN:   | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden attention=ulysses" \
// RUN:   | FileCheck %s --check-prefix=HEADS
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag" \
// RUN:   --convert-cp-to-calls | FileCheck %s --check-prefix=CALL

// Each layer makes the places of its own; cut, one of them serves all. Elements of
// the batch find their documents, and where heads are cut, places are whole. Ranks
// compare their documents over every axis that does not cut the lists.

// CHECK:       func.func @layers(
// CHECK-SAME:    %[[CU:[a-z0-9]+]]: tensor<2x5xi32>
// CHECK:       %[[OWN:.*]] = cp.slice %[[CU]] over ["dp"] of #mesh {dim = 0 : i64} : tensor<2x5xi32> -> tensor<1x5xi32>
// CHECK:       %[[P:.*]] = cp.cut_positions documents(%[[OWN]] : tensor<1x5xi32>) over ["cp"] of #mesh : tensor<1x16xi64>
// CHECK-NOT:   positions documents
// CHECK:       cp.conv1d {{.*}} places(%[[P]])
// CHECK:       cp.ssd_states {{.*}} places(%[[P]])
// CHECK:       cp.ssd_scan {{.*}} places(%[[P]])
// CHECK:       cp.rotary {{.*}} positions(%[[P]])
// CHECK:       cp.ring_attention {{.*}} places(%[[P]])

// HEADS:       %[[ALL:.*]] = cp.cut_positions documents(%{{.*}} : tensor<2x5xi32>) alike ["cp"] over [] of #mesh : tensor<2x64xi64>
// HEADS:       cp.conv1d {{.*}} places(%[[ALL]])
// HEADS:       cp.ssd {{.*}} places(%[[ALL]])
// HEADS:       cp.attention {{.*}} places(%[[ALL]])

// CALL: cp.call "document_positions" ins(%{{.*}} : tensor<2x5xi32>) outs(%{{.*}} : tensor<2x16xi64>) {axes = array<i64: 0>, orders = array<i64: 1>, alike = array<i64>}
func.func @layers(%u: tensor<2x64x8xf32> {cp.sequence = 1}, %cu: tensor<2x5xi32>,
    %in: tensor<48x8xf32>, %cw: tensor<28x4xf32>, %h: tensor<4xf32>,
    %out: tensor<8x16xf32>, %w: tensor<8x8xf32>) -> tensor<2x64x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%h) A_log(%h) D(%h)
      out_proj(%out) documents(%cu)
      {num_heads = 4, head_dim = 4, num_groups = 1, state_size = 6}
      : (tensor<2x64x8xf32>, tensor<48x8xf32>, tensor<28x4xf32>, tensor<4xf32>,
         tensor<4xf32>, tensor<4xf32>, tensor<8x16xf32>, tensor<2x5xi32>)
      -> tensor<2x64x8xf32>
  %1 = cp.attention_block %0 q_proj(%w) k_proj(%w) v_proj(%w) o_proj(%w)
      documents(%cu)
      {num_heads = 4, num_kv_heads = 4, head_dim = 2, rope_theta = 100.0}
      : (tensor<2x64x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
         tensor<8x8xf32>, tensor<2x5xi32>) -> tensor<2x64x8xf32>
  return %1 : tensor<2x64x8xf32>
}

// Both kinds of places are made of the slice that is there first.

// CHECK:       func.func @swapped(
// CHECK:       cp.slice %{{.*}} over ["dp"]
// CHECK-NOT:   cp.slice
// CHECK:       %[[A:.*]] = cp.cut_positions documents
// CHECK:       cp.rotary %{{.*}} positions(%[[A]])
// CHECK:       cp.rotary %{{.*}} positions(%[[A]])
func.func @swapped(%x: tensor<2x64x2x4xf32> {cp.sequence = 1},
                   %cu: tensor<2x5xi32>) -> tensor<2x64x2x4xf32> {
  %second = cp.positions documents(%cu : tensor<2x5xi32>) : tensor<2x64xi64>
  %first = cp.positions documents(%cu : tensor<2x5xi32>) : tensor<2x64xi64>
  %0 = cp.rotary %x positions(%first)
      : (tensor<2x64x2x4xf32>, tensor<2x64xi64>) -> tensor<2x64x2x4xf32>
  %1 = cp.rotary %0 positions(%second)
      : (tensor<2x64x2x4xf32>, tensor<2x64xi64>) -> tensor<2x64x2x4xf32>
  return %1 : tensor<2x64x2x4xf32>
}
