// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @attention_block_c1(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c1: the result must have type 'tensor<1x16x32xf32>', but has 'tensor<1x16x8xf32>'}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

func.func @attention_block_c2(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c2: num_heads must be between 1 and 16777216, but is 0}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 0, num_kv_heads = 2, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c2_groups(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c2: num_kv_heads (3) must divide num_heads (4)}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 3, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c3(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c3: q_proj must have shape [16, 32], but has [32, 32]}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 4}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c3_keys(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c3: k_proj must have shape [8, 32], but has [16, 32]}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 1, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c5(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c5: a window counts the keys at and before a query's place, so it must be 0 (none), or above 0 with causal = true, but is -1}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, window = -1}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c5_causal(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{but is 3 without causal}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, window = 3, causal = false}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c6(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c6: theta must be a number above 0, but is -1}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, rope_theta = -1.0}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c6_dims(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c6: channels are turned in pairs, so their number must be even, at least 2 and at most that of a head (8), but is 16}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, rope_theta = 1.0, rotary_dims = 16}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c6_alone(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c6: rotary_dims is 4 but there is no rope_theta}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, rotary_dims = 4}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_form(%u: tensor<1x16x32xf32>,
    %q: tensor<32x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>,
    %o: tensor<32x32xf32>) {
  // expected-error @+2 {{attribute 'form' failed to satisfy constraint: string attribute "ulysses", "ring", "gather" or "2d"}}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8, form = "flash"}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}

// -----

func.func @attention_block_c4(%u: tensor<1x16x32xf32>, %q: tensor<32x32xf32>,
    %k: tensor<16x32xf32>, %v: tensor<16x32xf64>, %o: tensor<32x32xf32>) {
  // expected-error @below {{attention_block_c4: }}
  %0 = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o)
      {num_heads = 4, num_kv_heads = 2, head_dim = 8}
      : (tensor<1x16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>,
         tensor<16x32xf64>, tensor<32x32xf32>) -> tensor<1x16x32xf32>
  return
}
