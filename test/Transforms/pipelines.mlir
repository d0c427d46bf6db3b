// What one rank of a whole model runs, and what is exchanged.

// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden" | FileCheck %s --check-prefixes=LOCAL,HIDDEN
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=sequence scan=gather" | FileCheck %s --check-prefixes=LOCAL,SEQUENCE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 mixer=hidden replicate-unused" | FileCheck %s --check-prefix=GRID
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 mixer=sequence replicate-unused" | FileCheck %s --check-prefix=GRIDSEQ
// RUN: %cp-opt %s --cp-shard-pipeline | FileCheck %s --check-prefix=ONE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=1 mixer=hidden" | FileCheck %s --check-prefix=ONE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden" --cp-lower-pipeline | FileCheck %s --check-prefix=LOWER
// RUN: %cp-opt %s --cp-pipeline="mesh=cp=4 mixer=hidden" | FileCheck %s --check-prefix=LOWER

// One layer: its norm, mixer and residual. Four heads, two groups.

// The activations are cut; parameters come whole to every rank.
// LOCAL-LABEL: func.func @layer(
// LOCAL-SAME:    %[[U:[a-z0-9]+]]: tensor<1x4x8xf32> {cp.layout = #{{.*}}, cp.sequence = 1 : i64}
// LOCAL-SAME:    tensor<84x8xf32>
// LOCAL-SAME:    tensor<48x4xf32>
// LOCAL-SAME:    -> (tensor<1x4x8xf32>
// LOCAL-SAME:    attributes {cp.view = "local"}
// LOCAL:         %[[N:.*]] = cp.rms_norm %[[U]]

// Hidden: x, B, C and dt travel as one exchange, in which the two groups are
// repeated for four ranks; y travels back; z does not travel. Parameters are
// sliced; where groups are repeated, so are their parameters.
// HIDDEN:        %[[Z:.*]] = linalg.contract {{.*}} ins(%[[N]], {{.*}} -> tensor<1x4x32xf32>
// HIDDEN:        %[[X:.*]] = linalg.contract {{.*}} ins(%[[N]], {{.*}} -> tensor<1x4x32xf32>
// HIDDEN-NOT:    cp.repeat {{.*}} : tensor<1x
// HIDDEN:        %[[IN:.*]]:4 = cp.all_to_all %[[X]], %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} over ["cp"] of #mesh
// HIDDEN-SAME:     concat_dims = array<i64: 1, 1, 1, 1>, repeat_units = array<i64: 1, 1, 4, 4>, repeats = array<i64: 1, 1, 2, 2>, split_dims = array<i64: 2, 2, 2, 2>
// HIDDEN-SAME:     : (tensor<1x4x32xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
// HIDDEN-SAME:     -> (tensor<1x16x8xf32>, tensor<1x16x1xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>)
// HIDDEN:        %[[W:.*]] = cp.slice %{{.*}} over ["cp"] of #mesh {dim = 0 : i64} : tensor<32x4xf32> -> tensor<8x4xf32>
// HIDDEN:        cp.conv1d %[[IN]]#0 weight(%[[W]])
// HIDDEN:        cp.repeat {{.*}} : tensor<8x4xf32> -> tensor<16x4xf32>
// HIDDEN-NOT:    cp.repeat {{.*}} : tensor<1x
// HIDDEN:        cp.ssd {{.*}} dt(%[[IN]]#1) {{.*}} -> (tensor<1x16x1x8xf32>, tensor<1x1x8x4xf32>)
// HIDDEN:        %[[YH:.*]] = tensor.collapse_shape
// HIDDEN:        %[[Y:.*]] = cp.all_to_all %[[YH]] over ["cp"] of #mesh {concat_dims = array<i64: 2>, split_dims = array<i64: 1>} : (tensor<1x16x8xf32>) -> tensor<1x4x32xf32>
// HIDDEN-NOT:    cp.{{all_|halo|scan_state|reshard}}
// HIDDEN:        cp.rms_norm %[[Y]] weight({{.*}}) gate(%[[Z]])

// Sequence: the rows before a rank's first travel as one exchange of x, B and C,
// and one state per layer runs over the ranks.
// SEQUENCE-NOT:  cp.{{all_|reshard|slice|repeat}}
// SEQUENCE:      cp.halo %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64}
// SEQUENCE-SAME:   -> (tensor<1x3x32xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>)
// SEQUENCE-COUNT-3: cp.conv1d {{.*}} initial(%halo
// SEQUENCE:      cp.ssd_states
// SEQUENCE-NEXT: cp.scan_state %{{.*}}, %{{.*}} over ["cp"] of #mesh {algorithm = #cp.scan_algorithm<gather>}
// SEQUENCE-NEXT: cp.ssd_scan
// SEQUENCE-NOT:  cp.{{all_|reshard|slice|repeat|halo|scan_state}}
// LOCAL:         return %{{.*}} : tensor<1x4x8xf32>

// On two axes each exchange stays within the ranks of one "dp" coordinate, and
// two groups need no repeat for two ranks.
// GRID-LABEL:    func.func @layer(%{{.*}}: tensor<1x8x8xf32>
// GRID-NOT:      repeat
// GRID:          cp.all_to_all %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} over ["cp"] of #mesh
// GRID-NOT:      repeat
// GRID:          cp.all_to_all %{{[a-z0-9_]+}} over ["cp"] of #mesh
// GRID-NOT:      cp.{{all_|repeat}}
// GRID:          return %{{.*}} : tensor<1x8x8xf32>
// GRIDSEQ-LABEL: func.func @layer(%{{.*}}: tensor<1x8x8xf32>
// GRIDSEQ:       cp.halo {{.*}} over ["cp"] of #mesh
// GRIDSEQ:       cp.scan_state {{.*}} over ["cp"] of #mesh
// GRIDSEQ:       return %{{.*}} : tensor<1x8x8xf32>

// One rank has the whole sequence, and no reshard of it is an exchange.
// ONE-LABEL:     func.func @layer(%{{.*}}: tensor<1x16x8xf32>
// ONE-NOT:       cp.{{all_|reshard|slice|repeat}}
// ONE:           return %{{.*}} : tensor<1x16x8xf32>

// A rank's program is calls alone. Nothing of the dialects above is left.
// LOWER-NOT:     {{(cp|linalg|tensor|memref|arith|func|scf)\.[a-z]}}
// LOWER:         llvm.func @layer(%{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr)
// LOWER:         llvm.call @cprt_rms_norm
// LOWER-COUNT-5: llvm.call @cprt_matmul
// LOWER:         llvm.call @cprt_all_to_all
// LOWER-COUNT-3: llvm.call @cprt_conv1d
// LOWER:         llvm.call @cprt_ssd(
// LOWER:         llvm.call @cprt_all_to_all
// LOWER:         llvm.call @cprt_rms_norm
// LOWER:         llvm.call @cprt_matmul
// LOWER:         llvm.call @cprt_launch
// LOWER:         llvm.return
func.func @layer(%u: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %in: tensor<84x8xf32>, %cw: tensor<48x4xf32>, %cb: tensor<48xf32>,
    %dtb: tensor<4xf32>, %a: tensor<4xf32>, %d: tensor<4xf32>,
    %nw: tensor<32xf32>, %out: tensor<8x32xf32>) -> tensor<1x16x8xf32> {
  %n = cp.rms_norm %u : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %m = cp.mamba_mixer %n in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 2, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<84x8xf32>, tensor<48x4xf32>,
         tensor<48xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x16x8xf32>
  %y = arith.addf %u, %m : tensor<1x16x8xf32>
  return %y : tensor<1x16x8xf32>
}

// Two layers: two exchanges each and nothing between them, for both layers keep
// the residual stream cut along the sequence.

// LOCAL-LABEL: func.func @two_layers(
// HIDDEN-COUNT-4:   cp.all_to_all
// HIDDEN-NOT:       cp.{{all_|halo|scan_state|reshard}}
// SEQUENCE-NOT:     cp.{{all_|reshard|slice}}
// SEQUENCE:         cp.halo
// SEQUENCE-NOT:     cp.{{all_|reshard|slice|halo}}
// SEQUENCE:         cp.scan_state
// SEQUENCE-NOT:     cp.{{all_|reshard|slice|scan_state}}
// SEQUENCE:         cp.halo
// SEQUENCE-NOT:     cp.{{all_|reshard|slice|halo}}
// SEQUENCE:         cp.scan_state
// SEQUENCE-NOT:     cp.{{all_|reshard|slice|halo|scan_state}}
// LOCAL:            return
func.func @two_layers(%u: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %in: tensor<84x8xf32>, %cw: tensor<48x4xf32>, %cb: tensor<48xf32>,
    %dtb: tensor<4xf32>, %a: tensor<4xf32>, %d: tensor<4xf32>,
    %nw: tensor<32xf32>, %out: tensor<8x32xf32>) -> tensor<1x16x8xf32> {
  %n = cp.rms_norm %u : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %m = cp.mamba_mixer %n in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 2, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<84x8xf32>, tensor<48x4xf32>,
         tensor<48xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x16x8xf32>
  %y = arith.addf %u, %m : tensor<1x16x8xf32>
  %n2 = cp.rms_norm %y : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %m2 = cp.mamba_mixer %n2 in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 2, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<84x8xf32>, tensor<48x4xf32>,
         tensor<48xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x16x8xf32>
  %y2 = arith.addf %y, %m2 : tensor<1x16x8xf32>
  return %y2 : tensor<1x16x8xf32>
}
