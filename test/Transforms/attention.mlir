// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag attention=ulysses" | FileCheck %s --check-prefix=ULYSSES
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag attention=ring" | FileCheck %s --check-prefix=RING
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=striped:2 attention=gather" | FileCheck %s --check-prefix=GATHER
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=ring=2,u=2 axis=ring,u order=zigzag attention=2d" | FileCheck %s --check-prefix=GRID
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=64 attention=ring" | grep -c "cp\." | FileCheck %s --check-prefix=COUNT
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 attention=ring" | grep -c "cp\." | FileCheck %s --check-prefix=COUNT

// Two groups of keys serve eight heads. Four ranks with heads each need a group:
// keys are repeated, and the exchange reads them before that. It also undoes the
// order of the sequence, and the one after it makes it anew: no reorder by itself.
// ULYSSES-LABEL: @attend
// ULYSSES-NOT: cp.reorder
// ULYSSES: %[[IN:.*]]:3 = cp.all_to_all %arg0, %arg1, %arg2 over ["cp"]
// ULYSSES-SAME: concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>]
// ULYSSES-SAME: concat_dims = array<i64: 1, 1, 1>
// ULYSSES-SAME: repeats = array<i64: 1, 2, 2>
// ULYSSES-SAME: split_dims = array<i64: 2, 2, 2>
// ULYSSES: cp.attention %[[IN]]#0, %[[IN]]#1, %[[IN]]#2
// ULYSSES-SAME: tensor<1x64x2x8xf32>, tensor<1x64x1x8xf32>
// ULYSSES: cp.all_to_all {{.*}}split_cuts = [#cp.cut<"cp" zigzag>]
// ULYSSES-NOT: cp.reorder
// ULYSSES: return

// RING-LABEL: @attend
// RING: cp.ring_attention %arg0, %arg1, %arg2 over ["cp" zigzag] of
// RING-SAME: tensor<1x16x8x8xf32>, tensor<1x16x2x8xf32>
// RING-NOT: cp.
// RING: return

// GATHER-LABEL: @attend
// GATHER:     cp.all_gather %arg{{[12]}}, %arg{{[12]}} over ["cp" striped : 2] {{.*}}dim = 1 : i64
// GATHER: cp.attention_rows %arg0, {{.*}} over ["cp" striped : 2] of
// GATHER-SAME: tensor<1x16x8x8xf32>, tensor<1x64x2x8xf32>

// Ulysses inside, the ring outside: the inner exchange leaves the order alone.
// GRID-LABEL: @attend
// GRID: %[[IN:.*]]:3 = cp.all_to_all %arg2, %arg1, %arg0 over ["u"]
// GRID-NOT: zigzag
// GRID: cp.ring_attention %[[IN]]#2, %[[IN]]#1, %[[IN]]#0 over ["ring" zigzag] of
// GRID-SAME: tensor<1x32x4x8xf32>, tensor<1x32x1x8xf32>
// GRID: cp.all_to_all {{.*}} over ["u"]

// The program does not grow with the number of ranks: a mesh, a layout for all
// that are alike, the op.
// COUNT: {{^4$}}
func.func @attend(%q: tensor<1x64x8x8xf32> {cp.sequence = 1 : i64},
                  %k: tensor<1x64x2x8xf32> {cp.sequence = 1 : i64},
                  %v: tensor<1x64x2x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x64x8x8xf32> {
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x64x8x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      -> (tensor<1x64x8x8xf32>, tensor<1x8x64xf32>)
  %1 = arith.addf %o, %q : tensor<1x64x8x8xf32>
  return %1 : tensor<1x64x8x8xf32>
}
