// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag mixer=hidden" | FileCheck %s --check-prefix=HIDDEN
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag mixer=sequence" | FileCheck %s --check-prefix=SEQUENCE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=ring=2,u=2 axis=ring,u order=zigzag mixer=2d attention=2d" | FileCheck %s --check-prefix=GRID
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=striped mixer=sequence" | FileCheck %s --check-prefix=STRIPES
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=striped mixer=hidden" | FileCheck %s --check-prefix=HEADS

// Two mixers and the attention behind them, on a zigzag sequence.

// With heads cut, each layer's two exchanges undo the order and make it anew;
// nothing else reorders anything, between consecutive layers neither.
// HIDDEN-LABEL: @hybrid
// HIDDEN-NOT: cp.reorder
// HIDDEN: cp.all_to_all {{.*}}concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>]
// HIDDEN: cp.ssd
// HIDDEN: cp.all_to_all {{.*}}split_cuts = [#cp.cut<"cp" zigzag>]
// HIDDEN-NOT: cp.reorder
// HIDDEN: cp.all_to_all {{.*}}concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>]
// HIDDEN: cp.ssd
// HIDDEN: cp.all_to_all {{.*}}split_cuts = [#cp.cut<"cp" zigzag>]
// HIDDEN-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// HIDDEN: cp.ring_attention {{.*}} over ["cp" zigzag]
// HIDDEN-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// HIDDEN: return

// With the sequence cut nothing is reordered at all: windows, scans and attention
// take the rows as they are.
// SEQUENCE-LABEL: @hybrid
// SEQUENCE-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// SEQUENCE-COUNT-2: cp.scan_state {{.*}} over ["cp" zigzag]
// SEQUENCE-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// SEQUENCE: cp.ring_attention {{.*}} over ["cp" zigzag]
// SEQUENCE-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// SEQUENCE: return

// In two dimensions heads are cut over the inner axis, and what is left of the
// sequence stays as it is cut over the outer one.
// GRID-LABEL: @hybrid
// GRID-NOT: {{cp.reorder|cp.all_gather}}
// GRID: cp.all_to_all {{.*}} over ["u"]
// GRID: cp.halo {{.*}} over ["ring" zigzag]
// GRID: cp.scan_state {{.*}} over ["ring" zigzag]
// GRID: cp.all_to_all {{.*}} over ["u"]
// GRID-NOT: {{cp.reorder|cp.all_gather}}
// GRID: cp.ring_attention {{.*}} over ["ring" zigzag]
// GRID-NOT: {{cp.reorder|cp.all_gather}}
// GRID: return

// Scans and windows cannot run on stripes. Rows are put in order once, where they
// are narrowest, for both mixers with the residual between them, and dealt out
// again once before the attention.
// STRIPES-LABEL: @hybrid
// STRIPES: cp.reorder %arg0 from ["cp" striped] to ["cp"] of {{.*}} : tensor<1x16x8xf32>
// STRIPES-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// STRIPES-COUNT-2: cp.scan_state
// STRIPES-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// STRIPES: cp.reorder {{.*}} from ["cp"] to ["cp" striped] of {{.*}} : tensor<1x16x8xf32>
// STRIPES: cp.ring_attention {{.*}} over ["cp" striped]
// STRIPES-NOT: {{cp.reorder|cp.all_to_all|cp.all_gather}}
// STRIPES: return

// With heads cut the exchanges do it, as with zigzag.
// HEADS-LABEL: @hybrid
// HEADS-NOT: cp.reorder
// HEADS: cp.all_to_all {{.*}}concat_cuts = [#cp.cut<"cp" striped>, #cp.cut<"cp" striped>, #cp.cut<"cp" striped>, #cp.cut<"cp" striped>]
// HEADS: cp.all_to_all {{.*}}split_cuts = [#cp.cut<"cp" striped>]
// HEADS-NOT: cp.reorder
// HEADS: cp.ring_attention
func.func @hybrid(%u: tensor<1x64x8xf32> {cp.sequence = 1 : i64},
    %in: tensor<76x8xf32>, %cw: tensor<40x4xf32>, %cb: tensor<40xf32>,
    %dtb: tensor<4xf32>, %a: tensor<4xf32>, %d: tensor<4xf32>,
    %nw: tensor<32xf32>, %out: tensor<8x32xf32>) -> tensor<1x64x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x64x8xf32>, tensor<76x8xf32>, tensor<40x4xf32>,
         tensor<40xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x64x8xf32>
  %1 = arith.addf %0, %u : tensor<1x64x8xf32>
  %2 = cp.mamba_mixer %1 in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x64x8xf32>, tensor<76x8xf32>, tensor<40x4xf32>,
         tensor<40xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x64x8xf32>
  %3 = arith.addf %2, %1 : tensor<1x64x8xf32>
  %q = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [1, 64, 4, 2]
      : tensor<1x64x8xf32> into tensor<1x64x4x2xf32>
  %o, %lse = cp.attention %q, %q, %q
      : (tensor<1x64x4x2xf32>, tensor<1x64x4x2xf32>, tensor<1x64x4x2xf32>)
      -> (tensor<1x64x4x2xf32>, tensor<1x4x64xf32>)
  %merged = tensor.collapse_shape %o [[0], [1], [2, 3]]
      : tensor<1x64x4x2xf32> into tensor<1x64x8xf32>
  %res = arith.addf %merged, %3 : tensor<1x64x8xf32>
  return %res : tensor<1x64x8xf32>
}
