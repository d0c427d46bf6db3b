// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @c1_k(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x6xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c1: k must have shape [1, 8, 2, 5], but has [1, 8, 2, 6]}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x6xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c1_v(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x1x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c1: v must have shape [1, 8, 2, 3], but has [1, 8, 1, 3]}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x1x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c1_out(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c1: the result must have shape [1, 8, 4, 3], but has [1, 8, 4, 5]}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x5xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c1_lse(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c1: lse must have shape [1, 4, 8], but has [1, 8, 4]}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x8x4xf32>)
  return
}

// -----

func.func @c2(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x3x5xf32>, %v: tensor<1x8x3x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c2: the number of groups (3) must divide the number of heads (4)}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x3x5xf32>, tensor<1x8x3x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c3(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf64>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c1: k}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf64>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c3_lse(%q: tensor<1x8x4x5xbf16>, %k: tensor<1x8x2x5xbf16>, %v: tensor<1x8x2x3xbf16>) {
  // expected-error @below {{'cp.attention' op attention_c3: with 'bf16' lse must hold 'f32', but holds 'bf16'}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xbf16>, tensor<1x8x2x5xbf16>, tensor<1x8x2x3xbf16>)
      -> (tensor<1x8x4x3xbf16>, tensor<1x4x8xbf16>)
  return
}

// -----

func.func @c4_causal(%q: tensor<1x8x4x5xf32>, %k: tensor<1x9x2x5xf32>, %v: tensor<1x9x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c4: causal wants as many keys as queries, but there are 9 keys and 8 queries}}
  %o, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x4x5xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c4_ring(%q: tensor<1x8x4x5xf32>, %k: tensor<1x9x2x5xf32>, %v: tensor<1x9x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c4: form = "ring" or "2d" wants as many keys as queries, but there are 9 keys and 8 queries}}
  %o, %lse = cp.attention %q, %k, %v {causal = false, form = "ring"}
      : (tensor<1x8x4x5xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c5_negative(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c5: a window counts the keys at and before a query's place, so it must be 0 (none), or above 0 with causal = true, but is -1}}
  %o, %lse = cp.attention %q, %k, %v {window = -1}
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c5_full(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attention_c5: a window counts the keys at and before a query's place, so it must be 0 (none), or above 0 with causal = true, but is 3 without causal}}
  %o, %lse = cp.attention %q, %k, %v {causal = false, window = 3}
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @form(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention' op attribute 'form' failed to satisfy constraint}}
  %o, %lse = cp.attention %q, %k, %v {form = "star"}
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @rows_group(%q: tensor<1x8x4x5xf32>, %k: tensor<1x32x2x5xf32>, %v: tensor<1x32x2x3xf32>) {
  // expected-error @below {{'cp.attention_rows' op group_c1: #cp.mesh<"cp" = 4> has no axis "tp"}}
  %o, %lse = cp.attention_rows %q, %k, %v over ["tp"] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x32x2x5xf32>, tensor<1x32x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @rows_keys(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.attention_rows' op attention_c4: causal wants as many keys as queries, but there are 8 keys and 32 queries}}
  %o, %lse = cp.attention_rows %q, %k, %v over ["cp"] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @rows_cuts(%q: tensor<1x8x4x5xf32>, %k: tensor<1x32x2x5xf32>, %v: tensor<1x32x2x3xf32>) {
  // expected-error @below {{'cp.attention_rows' op layout_c5: dimension 1 of size 32 does not divide by 4 (axis "cp", striped) x 3 (unit)}}
  %o, %lse = cp.attention_rows %q, %k, %v over ["cp" striped : 3] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x32x2x5xf32>, tensor<1x32x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @rows_unit(%q: tensor<1x8x4x5xf32>, %k: tensor<1x32x2x5xf32>, %v: tensor<1x32x2x3xf32>) {
  // expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got -2}}
  %o, %lse = cp.attention_rows %q, %k, %v over ["cp" striped : -2] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x32x2x5xf32>, tensor<1x32x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @rows_window(%q: tensor<1x8x4x5xf32>, %k: tensor<1x32x2x5xf32>, %v: tensor<1x32x2x3xf32>) {
  // expected-error @below {{'cp.attention_rows' op attention_c5: a window}}
  %o, %lse = cp.attention_rows %q, %k, %v over ["cp"] of #mesh {causal = false, window = 2}
      : (tensor<1x8x4x5xf32>, tensor<1x32x2x5xf32>, tensor<1x32x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @ring_group(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.ring_attention' op group_c1: at least one axis must be named}}
  %o, %lse = cp.ring_attention %q, %k, %v over [] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @ring_keys(%q: tensor<1x8x4x5xf32>, %k: tensor<1x32x2x5xf32>, %v: tensor<1x32x2x3xf32>) {
  // expected-error @below {{'cp.ring_attention' op attention_c4: ring attention wants as many keys as queries, but there are 32 keys and 8 queries}}
  %o, %lse = cp.ring_attention %q, %k, %v over ["cp"] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x32x2x5xf32>, tensor<1x32x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @ring_lse(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %v: tensor<1x8x2x3xf32>) {
  // expected-error @below {{'cp.ring_attention' op attention_c3: with 'f32' lse must hold 'f32', but holds 'f64'}}
  %o, %lse = cp.ring_attention %q, %k, %v over ["cp"] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x3xf32>)
      -> (tensor<1x8x4x3xf32>, tensor<1x4x8xf64>)
  return
}

// -----

func.func @c6(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %m: tensor<8x7xi1>) {
  // expected-error @below {{'cp.attention' op attention_c6: the mask must have shape [8, 8], but has [8, 7]}}
  %o, %lse = cp.attention %q, %k, %k mask(%m)
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x5xf32>,
         tensor<8x7xi1>)
      -> (tensor<1x8x4x5xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c7(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %p: tensor<1x7xi64>) {
  // expected-error @below {{'cp.attention' op attention_c7: places must have shape [1, 8], but has [1, 7]}}
  %o, %lse = cp.attention %q, %k, %k places(%p)
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x5xf32>,
         tensor<1x7xi64>)
      -> (tensor<1x8x4x5xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @c7_causal(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %p: tensor<1x8xi64>) {
  // expected-error @below {{'cp.attention' op attention_c7: places say how far back a query sees, which wants causal; set causal, or leave them out}}
  %o, %lse = cp.attention %q, %k, %k places(%p) {causal = false}
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x5xf32>,
         tensor<1x8xi64>)
      -> (tensor<1x8x4x5xf32>, tensor<1x4x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @c7_ring(%q: tensor<1x8x4x5xf32>, %k: tensor<1x8x2x5xf32>, %p: tensor<2x8xi64>) {
  // expected-error @below {{'cp.ring_attention' op attention_c7: places must have shape [1, 8], but has [2, 8]}}
  %o, %lse = cp.ring_attention %q, %k, %k places(%p) over ["cp"] of #mesh
      : (tensor<1x8x4x5xf32>, tensor<1x8x2x5xf32>, tensor<1x8x2x5xf32>,
         tensor<2x8xi64>)
      -> (tensor<1x8x4x5xf32>, tensor<1x4x8xf32>)
  return
}
