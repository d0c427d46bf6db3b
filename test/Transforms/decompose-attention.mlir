// RUN: %cp-opt %s --cp-decompose --split-input-file | FileCheck %s

// Three projections, heads, one list of places for queries and keys, attention,
// and a projection back. The marks are what tensor parallelism cuts.

// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[U:[a-z0-9]+]]: tensor<1x16x32xf32>, %[[QW:[a-z0-9]+]]: tensor<32x32xf32>, %[[KW:[a-z0-9]+]]: tensor<16x32xf32>, %[[VW:[a-z0-9]+]]: tensor<16x32xf32>, %[[OW:[a-z0-9]+]]: tensor<32x32xf32>
// CHECK:         %[[Q:.*]] = linalg.contract {{.*}} {cp.parallel = "columns"} ins(%[[U]], %[[QW]]
// CHECK:         %[[QH:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x16x4x8xf32>
// CHECK:         %[[K:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[KW]]
// CHECK:         %[[KH:.*]] = tensor.expand_shape %[[K]] {{.*}} into tensor<1x16x2x8xf32>
// CHECK:         %[[V:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[VW]]
// CHECK:         %[[VH:.*]] = tensor.expand_shape %[[V]] {{.*}} into tensor<1x16x2x8xf32>
// CHECK:         %[[P:.*]] = cp.positions : tensor<16xi64>
// CHECK:         %[[QR:.*]] = cp.rotary %[[QH]] positions(%[[P]]) {dims = 4 : i64, theta = 5.000000e+02 : f64}
// CHECK:         %[[KR:.*]] = cp.rotary %[[KH]] positions(%[[P]]) {dims = 4 : i64, theta = 5.000000e+02 : f64}
// CHECK:         %[[A:.*]], %{{.*}} = cp.attention %[[QR]], %[[KR]], %[[VH]] {form = "gather", scale = 5.000000e-01 : f64, window = 3 : i64}
// CHECK-SAME:      -> (tensor<1x16x4x8xf32>, tensor<1x4x16xf32>)
// CHECK:         %[[M:.*]] = tensor.collapse_shape %[[A]] {{.*}} into tensor<1x16x32xf32>
// CHECK:         %[[O:.*]] = linalg.contract {{.*}} {cp.parallel = "rows"} ins(%[[M]], %[[OW]]
// CHECK:         return %[[O]]
// CHECK-NOT:     cp.attention_block
func.func @layer(%u: tensor<1x16x32xf32>, %q: tensor<32x32xf32>,
    %k: tensor<16x32xf32>, %v: tensor<16x32xf32>, %o: tensor<32x32xf32>)
    -> tensor<1x16x32xf32> {
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, rope_theta = 500.0,
       rotary_dims = 4, scale = 0.5, window = 3, form = "gather"}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}

// -----

// Biases are added behind their projections; without a theta nothing is turned.
// lse is f64 with f64.

// CHECK-LABEL: func.func @biases(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<1x16x8xf64>, %{{[a-z0-9]+}}: tensor<8x8xf64>, %[[B:[a-z0-9]+]]: tensor<8xf64>
// CHECK-COUNT-3: linalg.generic {{.*}} ins(%{{.*}}, %[[B]]
// CHECK-NOT:     cp.rotary
// CHECK:         cp.attention {{.*}} -> (tensor<1x16x2x4xf64>, tensor<1x2x16xf64>)
// CHECK:         linalg.contract
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[B]]
func.func @biases(%u: tensor<1x16x8xf64>, %w: tensor<8x8xf64>, %b: tensor<8xf64>)
    -> tensor<1x16x8xf64> {
  %0 = cp.attention_block %u q_proj(%w, %b) k_proj(%w, %b) v_proj(%w, %b)
      o_proj(%w, %b) {num_heads = 2, num_kv_heads = 2, head_dim = 4}
      : (tensor<1x16x8xf64>, tensor<8x8xf64>, tensor<8xf64>, tensor<8x8xf64>,
         tensor<8xf64>, tensor<8x8xf64>, tensor<8xf64>, tensor<8x8xf64>,
         tensor<8xf64>) -> tensor<1x16x8xf64>
  return %0 : tensor<1x16x8xf64>
}
