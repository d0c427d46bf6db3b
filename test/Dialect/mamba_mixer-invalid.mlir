// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @mixer_c1(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{'cp.mamba_mixer' op mixer_c1: the result must have type 'tensor<1x16x8xf32>', but has 'tensor<1x8x16xf32>'}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x8x16xf32>
  return
}

// -----

func.func @mixer_c2_num_heads(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: num_heads must be between 1 and 16777216, but is 0}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 0, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_head_dim(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: head_dim must be between 1 and 16777216, but is -8}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = -8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_num_groups(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: num_groups must be between 1 and 16777216, but is 0}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 0, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_state_size(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: state_size must be between 1 and 16777216, but is 9223372036854775807}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1,
       state_size = 9223372036854775807}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_chunk_size(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: chunk_size must be between 1 and 16777216, but is 0}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       chunk_size = 0}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_norm_groups(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: norm_groups must be between 1 and 16777216, but is -9223372036854775808}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       norm_groups = -9223372036854775808}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: num_groups (3) must divide num_heads (2)}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 3, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c2_norm(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c2: norm_groups (3) must divide num_heads * head_dim (16)}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4,
       norm_groups = 3}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3(%u: tensor<1x16x8xf32>, %in: tensor<41x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: in_proj must have shape [42, 8], but has [41, 8]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<41x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_in_proj_bias(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %inb: tensor<8xf32>, %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>,
    %a: tensor<2xf32>, %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: in_proj bias must have shape [42], but has [8]}}
  %0 = cp.mamba_mixer %u in_proj(%in, %inb) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<8xf32>, tensor<24x4xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_conv(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<16x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: conv weight must have shape [24, 4], but has [16, 4]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<16x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_conv_bias(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %cb: tensor<16xf32>, %dtb: tensor<2xf32>,
    %a: tensor<2xf32>, %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: conv bias must have shape [24], but has [16]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw, %cb) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<16xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_dt_bias(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<1xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: dt_bias must have shape [2], but has [1]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<1xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_a_log(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<16xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: A_log must have shape [2], but has [16]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<16xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_d(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<16xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: D must have shape [2] or [2, 8], but has [16]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<16xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_norm(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %nw: tensor<8xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: norm must have shape [16], but has [8]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) norm(%nw) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_out_proj(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<16x8xf32>) {
  // expected-error @below {{mixer_c3: out_proj must have shape [8, 16], but has [16, 8]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<16x8xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_out_proj_bias(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>, %outb: tensor<16xf32>) {
  // expected-error @below {{mixer_c3: out_proj bias must have shape [8], but has [16]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out, %outb)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>, tensor<16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_d_rank(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<f32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: D must have shape [2] or [2, 8], but has []}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<f32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c4(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xbf16>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c4: element types must agree, but 'f32' and 'bf16' were found}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xbf16>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c3_no_window(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x0xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c3: the window must be at least 1, but is 0}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x0xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @mixer_c5(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %dtb: tensor<2xf32>, %a: tensor<2xf32>,
    %d: tensor<2xf32>, %out: tensor<8x16xf32>) {
  // expected-error @below {{mixer_c5: dt_min must be at most dt_max, but 0.000000e+00 and -2.000000e+00 were found}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%dtb)
      A_log(%a) D(%d) out_proj(%out)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4, dt_max = -2.0}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>)
      -> tensor<1x16x8xf32>
  return
}
