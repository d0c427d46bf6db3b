// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=4 order=zigzag_per_document attention=ring" | FileCheck %s
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=4,dp=2 batch=dp order=zigzag_per_document attention=ring" | FileCheck %s --check-prefix=BATCH
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=4 order=zigzag_per_document gradients=cotangents" | FileCheck %s --check-prefix=GRAD
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=4 order=zigzag_per_document gradients=cotangents differentiate=local" | FileCheck %s --check-prefix=LOCAL
// RUN: not %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=4 order=zigzag_per_document attention=gather" 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: not %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=ring=2,u=2 axis=ring,u order=zigzag_per_document" 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=ring=2,u=2 axis=ring,u order=zigzag_per_document attention=2d" | FileCheck %s --check-prefix=TWOD
// RUN: %cp-opt %s --split-input-file --cp-shard-pipeline="mesh=cp=2,tp=2 tp=tp tp-rows order=zigzag_per_document" | FileCheck %s --check-prefix=TPROWS

// Callers know nothing of documents: rows come and go in their natural order. The
// residual is put in the documents' once, and back once; what lies between two
// attentions is in it.

// CHECK-LABEL: @two
// CHECK-SAME: %[[X:.*]]: tensor<2x16x32xf32> {cp.layout = #[[$ROWS:layout.*]], cp.sequence = 1 : i64}, %[[CU:[^:]*]]: tensor<2x5xi32>
// CHECK: %[[PLACES:.*]] = cp.cut_positions documents(%[[CU]] : tensor<2x5xi32>) over ["cp" zigzag_per_document]
// CHECK-NOT: cp.reorder
// CHECK: %[[IN:.*]] = cp.reorder %[[X]] documents(%[[CU]] : tensor<2x5xi32>) from ["cp"] to ["cp" zigzag_per_document] {{.*}} {dim = 1 : i64} : tensor<2x16x32xf32>
// CHECK-NOT: cp.reorder
// CHECK: cp.ring_attention {{.*}} places(%[[PLACES]]) documents(%[[CU]]) over ["cp" zigzag_per_document]
// CHECK-NOT: cp.reorder
// CHECK: cp.ring_attention {{.*}} places(%[[PLACES]]) documents(%[[CU]]) over ["cp" zigzag_per_document]
// CHECK-NOT: cp.reorder
// CHECK: %[[OUT:.*]] = cp.reorder {{.*}} documents(%[[CU]] : tensor<2x5xi32>) from ["cp" zigzag_per_document] to ["cp"]
// CHECK-NEXT: return %[[OUT]]

// Each rank has the lists of its elements of the batch.
// BATCH-LABEL: @two
// BATCH: cp.reorder %{{.*}} documents(%{{.*}} : tensor<1x5xi32>) from ["cp"] to ["cp" zigzag_per_document] {{.*}} : tensor<1x16x32xf32>

// Cotangents come and go so too, and are what rows are put in order for again.
// GRAD-LABEL: @two
// GRAD-COUNT-2: cp.ring_attention {{.*}}zigzag_per_document
// GRAD: cp.reorder %{{.*}} from ["cp"] to ["cp" zigzag_per_document]
// GRAD-NOT: cp.reorder
// GRAD-COUNT-2: cp.ring_attention_grad {{.*}} documents(%{{.*}}) {{.*}}zigzag_per_document
// GRAD-NOT: cp.reorder
// GRAD: cp.reorder %{{.*}} from ["cp" zigzag_per_document] to ["cp"]
// Of the program of a rank each reorder's adjoint is one the other way.
// LOCAL-LABEL: @two
// LOCAL: cp.reorder %{{.*}} from ["cp"] to ["cp" zigzag_per_document]
// LOCAL: cp.reorder %[[OUT:.*]] documents(%[[CU:.*]] : tensor<2x5xi32>) from ["cp" zigzag_per_document] to ["cp"]
// LOCAL: cp.reorder %{{.*}} documents(%[[CU]] : tensor<2x5xi32>) from ["cp"] to ["cp" zigzag_per_document]
// LOCAL-COUNT-2: cp.ring_attention_grad {{.*}} documents(%[[CU]]) {{.*}}zigzag_per_document

// A ring over two axes is no more for it than keys that are gathered.
// GATHER: error: 'func.func' op assign_c10: no op can have the order zigzag_per_document: that is for causal attention whose keys travel over one axis (attention=ring, or 2d of two axes) and whose places are those of documents (cp.positions documents); give the model documents, or use the order zigzag

// Of two axes one cuts heads, and documents are cut over the other: rows leave
// their order behind the exchange that cuts heads, and come back to it before that
// which puts them together.
// TWOD-LABEL: @two
// TWOD: %[[HEADS:.*]] = cp.all_to_all %{{.*}} over ["u"]
// TWOD: cp.reorder %[[HEADS]] documents(%[[CU:.*]] : tensor<2x5xi32>) from ["ring"] to ["ring" zigzag_per_document] {{.*}} : tensor<2x32x2x8xf32>
// TWOD: %[[FIRST:[^,]*]], {{.*}} = cp.ring_attention {{.*}} documents(%[[CU]]) over ["ring" zigzag_per_document]
// TWOD: %[[BACK:.*]] = cp.reorder %[[FIRST]] documents(%[[CU]] : {{.*}} from ["ring" zigzag_per_document] to ["ring"]
// TWOD-NEXT: cp.all_to_all %[[BACK]] over ["u"]

// Rows that tensor parallelism cuts too are put together before.
// TPROWS-LABEL: @two
// TPROWS: cp.reorder {{.*}} from ["cp"] to ["cp" zigzag_per_document]
// TPROWS: cp.ring_attention {{.*}} over ["cp" zigzag_per_document]
// TPROWS: cp.reorder {{.*}} from ["cp" zigzag_per_document] to ["cp"]

func.func @two(%x: tensor<2x64x32xf32> {cp.sequence = 1 : i64},
    %cu_seqlens: tensor<2x5xi32>, %w: tensor<32xf32> {cp.param = "w"})
    -> tensor<2x64x32xf32> {
  %places = cp.positions documents(%cu_seqlens : tensor<2x5xi32>) : tensor<2x64xi64>
  %normed = cp.rms_norm %x weight(%w)
      : (tensor<2x64x32xf32>, tensor<32xf32>) -> tensor<2x64x32xf32>
  %heads = tensor.expand_shape %normed [[0], [1], [2, 3]] output_shape [2, 64, 4, 8]
      : tensor<2x64x32xf32> into tensor<2x64x4x8xf32>
  %first, %lse = cp.attention %heads, %heads, %heads places(%places)
      : (tensor<2x64x4x8xf32>, tensor<2x64x4x8xf32>, tensor<2x64x4x8xf32>,
         tensor<2x64xi64>) -> (tensor<2x64x4x8xf32>, tensor<2x4x64xf32>)
  %sum = arith.addf %heads, %first : tensor<2x64x4x8xf32>
  %second, %lse2 = cp.attention %sum, %sum, %sum places(%places)
      : (tensor<2x64x4x8xf32>, tensor<2x64x4x8xf32>, tensor<2x64x4x8xf32>,
         tensor<2x64xi64>) -> (tensor<2x64x4x8xf32>, tensor<2x4x64xf32>)
  %rows = tensor.collapse_shape %second [[0], [1], [2, 3]]
      : tensor<2x64x4x8xf32> into tensor<2x64x32xf32>
  return %rows : tensor<2x64x32xf32>
}

// -----

// A scan beside it has rows in their natural order, and they are put into the
// documents' behind it: where least travels, before the projections of a query
// and of the keys.

// CHECK-LABEL: @hybrid
// CHECK-NOT: cp.reorder
// CHECK: cp.scan_state {{.*}} over ["cp"]
// CHECK: cp.reorder %{{.*}} documents(%{{.*}}) from ["cp"] to ["cp" zigzag_per_document] {{.*}} : tensor<2x16x8xf32>
// CHECK-NOT: cp.reorder
// CHECK: cp.ring_attention {{.*}} over ["cp" zigzag_per_document]
// CHECK-NOT: cp.reorder
// CHECK: cp.reorder %{{.*}} from ["cp" zigzag_per_document] to ["cp"] {{.*}} : tensor<2x16x8xf32>
// CHECK-NEXT: return
func.func @hybrid(%u: tensor<2x64x8xf32> {cp.sequence = 1 : i64},
    %cu_seqlens: tensor<2x5xi32>, %in: tensor<76x8xf32> {cp.param = "in"},
    %cw: tensor<40x4xf32>, %cb: tensor<40xf32>, %dtb: tensor<4xf32>,
    %a: tensor<4xf32>, %d: tensor<4xf32>, %nw: tensor<32xf32>,
    %out: tensor<8x32xf32>, %q: tensor<8x8xf32>, %kv: tensor<4x8xf32>,
    %o: tensor<8x8xf32>) -> tensor<2x64x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out) documents(%cu_seqlens)
      {num_heads = 4, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<2x64x8xf32>, tensor<76x8xf32>, tensor<40x4xf32>,
         tensor<40xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>, tensor<2x5xi32>)
      -> tensor<2x64x8xf32>
  %1 = cp.attention_block %0 q_proj(%q) k_proj(%kv) v_proj(%kv) o_proj(%o)
      documents(%cu_seqlens)
      {num_heads = 2, num_kv_heads = 1, head_dim = 4}
      : (tensor<2x64x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>,
         tensor<4x8xf32>, tensor<8x8xf32>, tensor<2x5xi32>)
      -> tensor<2x64x8xf32>
  return %1 : tensor<2x64x8xf32>
}
