// RUN: %cp-opt %s --cp-decompose --split-input-file | FileCheck %s

// One contraction per section of in_proj (z, x, B, C, dt) and one convolution
// per section of the convolution; every section of a fused weight is a slice of
// its rows.

// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[U:[a-z0-9]+]]: tensor<1x16x8xf32>, %[[IN:[a-z0-9]+]]: tensor<84x8xf32>,
// CHECK-SAME:    %[[CW:[a-z0-9]+]]: tensor<48x4xf32>, %[[CB:[a-z0-9]+]]: tensor<48xf32>,
// CHECK-SAME:    %[[DTB:[a-z0-9]+]]: tensor<4xf32>, %[[A:[a-z0-9]+]]: tensor<4xf32>,
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<4xf32>, %[[NW:[a-z0-9]+]]: tensor<32xf32>,
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: tensor<8x32xf32>)
// CHECK:         %[[ZROWS:.*]] = tensor.extract_slice %[[IN]][0, 0] [32, 8] [1, 1]
// CHECK:         %[[Z:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[ZROWS]]
// CHECK:         %[[XROWS:.*]] = tensor.extract_slice %[[IN]][32, 0] [32, 8] [1, 1]
// CHECK:         %[[X:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[XROWS]]
// CHECK:         %[[BROWS:.*]] = tensor.extract_slice %[[IN]][64, 0] [8, 8] [1, 1]
// CHECK:         %[[B:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[BROWS]]
// CHECK:         %[[CROWS:.*]] = tensor.extract_slice %[[IN]][72, 0] [8, 8] [1, 1]
// CHECK:         %[[C:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[CROWS]]
// CHECK:         %[[DTROWS:.*]] = tensor.extract_slice %[[IN]][80, 0] [4, 8] [1, 1]
// CHECK:         %[[DT:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[DTROWS]]
// CHECK:         %[[XW:.*]] = tensor.extract_slice %[[CW]][0, 0] [32, 4] [1, 1]
// CHECK:         %[[XB:.*]] = tensor.extract_slice %[[CB]][0] [32] [1]
// CHECK:         %[[XCONV:.*]] = cp.conv1d %[[X]] weight(%[[XW]]) bias(%[[XB]]) {silu = true}
// CHECK:         %[[BW:.*]] = tensor.extract_slice %[[CW]][32, 0] [8, 4] [1, 1]
// CHECK:         %[[BB:.*]] = tensor.extract_slice %[[CB]][32] [8] [1]
// CHECK:         %[[BCONV:.*]] = cp.conv1d %[[B]] weight(%[[BW]]) bias(%[[BB]]) {silu = true}
// CHECK:         %[[CWS:.*]] = tensor.extract_slice %[[CW]][40, 0] [8, 4] [1, 1]
// CHECK:         %[[CBS:.*]] = tensor.extract_slice %[[CB]][40] [8] [1]
// CHECK:         %[[CCONV:.*]] = cp.conv1d %[[C]] weight(%[[CWS]]) bias(%[[CBS]]) {silu = true}
// CHECK-DAG:     %[[XH:.*]] = tensor.expand_shape %[[XCONV]] {{.*}} into tensor<1x16x4x8xf32>
// CHECK-DAG:     %[[BG:.*]] = tensor.expand_shape %[[BCONV]] {{.*}} into tensor<1x16x2x4xf32>
// CHECK-DAG:     %[[CG:.*]] = tensor.expand_shape %[[CCONV]] {{.*}} into tensor<1x16x2x4xf32>
// CHECK:         %[[Y:.*]], %{{.*}} = cp.ssd %[[XH]] dt(%[[DT]]) A_log(%[[A]]) B(%[[BG]]) C(%[[CG]]) D(%[[D]]) dt_bias(%[[DTB]])
// CHECK-SAME:      {chunk_size = 8 : i64, dt_max = 1.000000e-01 : f64}
// CHECK:         %[[YC:.*]] = tensor.collapse_shape %[[Y]] {{.*}} into tensor<1x16x32xf32>
// CHECK:         %[[N:.*]] = cp.rms_norm %[[YC]] weight(%[[NW]]) gate(%[[Z]])
// CHECK-SAME:      {eps = 2.500000e-01 : f64, gate_first = false, groups = 2 : i64}
// CHECK:         %[[R:.*]] = linalg.contract {{.*}} ins(%[[N]], %[[OUT]]
// CHECK:         return %[[R]]
// CHECK-NOT:     cp.mamba_mixer
func.func @layer(%u: tensor<1x16x8xf32>, %in: tensor<84x8xf32>,
    %cw: tensor<48x4xf32>, %cb: tensor<48xf32>, %dtb: tensor<4xf32>,
    %a: tensor<4xf32>, %d: tensor<4xf32>, %nw: tensor<32xf32>,
    %out: tensor<8x32xf32>) -> tensor<1x16x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb) A_log(%a)
      D(%d) norm(%nw) out_proj(%out)
      {num_heads = 4, head_dim = 8, num_groups = 2, state_size = 4,
       chunk_size = 8, norm_groups = 2, gate_first = false, eps = 0.25,
       dt_max = 0.1}
      : (tensor<1x16x8xf32>, tensor<84x8xf32>, tensor<48x4xf32>,
         tensor<48xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
         tensor<32xf32>, tensor<8x32xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// Biases of projections are added along the last dimension, the convolution has
// none, and without a norm the gate is z / (1 + exp(-z)). A strategy goes to
// every op that depends along the sequence.

// CHECK-DAG:   #[[$WHOLE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$LAST:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @biases(
// CHECK-SAME:    %[[U:[a-z0-9]+]]: tensor<1x16x8xf32>, %{{[a-z0-9]+}}: tensor<42x8xf32>, %[[INB:[a-z0-9]+]]: tensor<42xf32>
// CHECK-SAME:    %[[OUTB:[a-z0-9]+]]: tensor<8xf32>)
// CHECK:         %[[ZB:.*]] = tensor.extract_slice %[[INB]][0] [16] [1]
// CHECK:         %[[Z:.*]] = linalg.generic {indexing_maps = [#[[$WHOLE]], #[[$LAST]], #[[$WHOLE]]]
// CHECK-SAME:      ins(%{{.*}}, %[[ZB]]
// CHECK:           arith.addf
// CHECK:         tensor.extract_slice %[[INB]][16] [16] [1]
// CHECK:         tensor.extract_slice %[[INB]][32] [4] [1]
// CHECK:         tensor.extract_slice %[[INB]][36] [4] [1]
// CHECK:         tensor.extract_slice %[[INB]][40] [2] [1]
// CHECK-COUNT-3: cp.conv1d %{{[0-9a-z_]+}} weight(%{{[0-9a-z_]+}}) {silu = true, strategy = "hidden"}
// CHECK:         cp.ssd {{.*}} {strategy = "hidden"}
// CHECK:         %[[Y:.*]] = tensor.collapse_shape
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK:         %[[NEG:.*]] = arith.negf %[[Z]]
// CHECK:         %[[LEAST:.*]] = arith.minimumf %[[NEG]], %{{.*}}
// CHECK:         %[[EXP:.*]] = math.exp %[[LEAST]]
// CHECK:         %[[DEN:.*]] = arith.addf %[[EXP]], %[[ONE]]
// CHECK:         %[[GATE:.*]] = arith.divf %[[Z]], %[[DEN]]
// CHECK:         %[[GATED:.*]] = arith.mulf %[[Y]], %[[GATE]]
// CHECK-NOT:     cp.rms_norm
// CHECK:         linalg.contract {{.*}} ins(%[[GATED]]
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[OUTB]]
func.func @biases(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %inb: tensor<42xf32>, %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>,
    %a: tensor<2xf32>, %d: tensor<2x8xf32>, %out: tensor<8x16xf32>,
    %outb: tensor<8xf32>) -> tensor<1x16x8xf32> {
  %0 = cp.mamba_mixer %u in_proj(%in, %inb) conv(%cw) dt_bias(%dtb) A_log(%a)
      D(%d) out_proj(%out, %outb)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       strategy = "hidden"}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<42xf32>,
         tensor<24x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x8xf32>,
         tensor<8x16xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// A function without composite ops stays as it is.

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    return
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What is not there, or of another size, is left to whoever lowers it.

// CHECK-LABEL: func.func private @short(
// CHECK:         dense_resource<one>
func.func private @short() -> tensor<4xf32> {
  %0 = arith.constant dense_resource<one> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      one: "0x040000000000803f"
    }
  }
#-}
