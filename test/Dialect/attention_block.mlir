// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: cp.attention_block %{{.*}} q_proj(%{{.*}}) k_proj(%{{.*}}) v_proj(%{{.*}}) o_proj(%{{.*}}) {head_dim = 8 : i64, num_heads = 4 : i64, num_kv_heads = 2 : i64} :
func.func @plain(%u: tensor<1x16x32xf32>, %q: tensor<32x32xf32>,
    %k: tensor<16x32xf32>, %v: tensor<16x32xf32>, %o: tensor<32x32xf32>) {
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// CHECK-LABEL: @everything
// CHECK: cp.attention_block %{{.*}} q_proj(%{{.*}}, %{{.*}}) k_proj(%{{.*}}, %{{.*}}) v_proj(%{{.*}}, %{{.*}}) o_proj(%{{[a-z0-9]+}}, %{{[a-z0-9]+}})
// CHECK-SAME: {form = "ring", head_dim = 8 : i64, num_heads = 4 : i64, num_kv_heads = 4 : i64, rope_theta = 5.000000e+02 : f64, rotary_dims = 4 : i64, scale = 5.000000e-01 : f64, window = 3 : i64} :
func.func @everything(%u: tensor<1x16x16xbf16>, %w: tensor<32x16xbf16>,
    %b: tensor<32xbf16>, %o: tensor<16x32xbf16>, %ob: tensor<16xbf16>) {
  %0 = cp.attention_block %u q_proj(%w, %b) k_proj(%w, %b) v_proj(%w, %b)
      o_proj(%o, %ob)
      {num_heads = 4, num_kv_heads = 4, head_dim = 8, rope_theta = 500.0,
       rotary_dims = 4, scale = 0.5, window = 3, form = "ring"}
      : (tensor<1x16x16xbf16>, tensor<32x16xbf16>, tensor<32xbf16>,
         tensor<32x16xbf16>, tensor<32xbf16>, tensor<32x16xbf16>,
         tensor<32xbf16>, tensor<16x32xbf16>, tensor<16xbf16>)
      -> tensor<1x16x16xbf16>
  return
}
