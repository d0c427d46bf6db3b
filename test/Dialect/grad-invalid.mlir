// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @conv(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>, %dy: tensor<1x8x24xf32>) {
  // expected-error @below {{conv1d_grad_c1: dy must have type 'tensor<1x16x24xf32>', but has 'tensor<1x8x24xf32>'}}
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) from %dy
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x8x24xf32>)
      -> (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>, tensor<1x3x24xf32>)
  return
}

// -----

func.func @conv(%x: tensor<1x16x24xf32>, %w: tensor<12x4xf32>) {
  // expected-error @below {{conv1d_grad_c2: the weight must have shape [24, 4], but has [12, 4]}}
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) from %x
      : (tensor<1x16x24xf32>, tensor<12x4xf32>, tensor<1x16x24xf32>)
      -> (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>, tensor<1x3x24xf32>)
  return
}

// -----

func.func @conv(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>) {
  // expected-error @below {{conv1d_grad_c3: dinitial must have shape [1, 3, 24], but has [1, 4, 24]}}
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) from %x
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x16x24xf32>)
      -> (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>, tensor<1x4x24xf32>)
  return
}

// -----

func.func @conv(%x: tensor<1x16x24xbf16>, %w: tensor<24x4xbf16>) {
  // expected-error @below {{conv1d_grad_c4: dweight must hold 'f32', but holds 'bf16'}}
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) from %x
      : (tensor<1x16x24xbf16>, tensor<24x4xbf16>, tensor<1x16x24xbf16>)
      -> (tensor<1x16x24xbf16>, tensor<24x4xbf16>, tensor<24xf32>, tensor<1x3x24xbf16>)
  return
}

// -----

func.func @norm(%x: tensor<1x16x24xf32>) {
  // expected-error @below {{rms_norm_grad_c1: there must be a dgate where there is a gate, and nowhere else}}
  %dx, %dw, %dz = cp.rms_norm_grad %x from %x
      : (tensor<1x16x24xf32>, tensor<1x16x24xf32>)
      -> (tensor<1x16x24xf32>, tensor<24xf32>, tensor<1x16x24xf32>)
  return
}

// -----

func.func @norm(%x: tensor<1x16x24xf32>) {
  // expected-error @below {{rms_norm_grad_c2: dweight must have shape [24], but has [16]}}
  %dx, %dw = cp.rms_norm_grad %x from %x
      : (tensor<1x16x24xf32>, tensor<1x16x24xf32>) -> (tensor<1x16x24xf32>, tensor<16xf32>)
  return
}

// -----

func.func @norm(%x: tensor<1x16x24xf32>) {
  // expected-error @below {{rms_norm_grad_c3: groups}}
  %dx, %dw = cp.rms_norm_grad %x from %x {groups = 5}
      : (tensor<1x16x24xf32>, tensor<1x16x24xf32>) -> (tensor<1x16x24xf32>, tensor<24xf32>)
  return
}

// -----

func.func @tokens(%ids: tensor<1x16xi32>, %dy: tensor<1x8x8xf32>) {
  // expected-error @below {{embedding_grad_c1: dy must have shape [1, 16, 8], but has [1, 8, 8]}}
  %0 = cp.embedding_grad %ids from %dy : (tensor<1x16xi32>, tensor<1x8x8xf32>) -> tensor<96x8xf32>
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_c1: dx must have type 'tensor<1x16x2x8xf32>', but has 'tensor<1x16x2x4xf32>'}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) from %x
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
      -> (tensor<1x16x2x4xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_c2: dA_log must have shape [2], but has [3]}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) from %x
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<3xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_c3: dB must have type 'tensor<1x16x1x4xf32>', but has 'tensor<1x16x2x4xf32>'}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) from %x
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x2x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_c4: dD must have shape [2, 8], but has [2, 4]}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) from %x
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_c5: chunk_size must be at least 1, but is 0}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) from %x {chunk_size = 0}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>, %places: tensor<1x8xi64>) {
  // expected-error @below {{ssd_grad_c6: places must have shape [1, 16], but has [1, 8]}}
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) places(%places) from %x
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>, tensor<1x8xi64>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x2x16xf32>, %o: tensor<1x8x2x16xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c1: out must have shape [1, 8, 4, 16], but has [1, 8, 2, 16]}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o
      : (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x4x8xf32>, tensor<1x8x2x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x3x16xf32>, %o: tensor<1x8x4x16xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c2: }}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o
      : (tensor<1x8x4x16xf32>, tensor<1x8x3x16xf32>, tensor<1x8x3x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x3x16xf32>, tensor<1x8x3x16xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xbf16>, %k: tensor<1x8x2x16xbf16>, %o: tensor<1x8x4x16xbf16>, %lse: tensor<1x4x8xbf16>) {
  // expected-error @below {{attention_grad_c3: lse must hold 'f32', but holds 'bf16'}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o
      : (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x4x16xbf16>, tensor<1x4x8xbf16>, tensor<1x8x4x16xbf16>) -> (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x6x2x16xf32>, %o: tensor<1x8x4x16xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c4: causal wants as many keys as queries, but there are 6 keys and 8 queries}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o
      : (tensor<1x8x4x16xf32>, tensor<1x6x2x16xf32>, tensor<1x6x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x6x2x16xf32>, tensor<1x6x2x16xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x2x16xf32>, %o: tensor<1x8x4x16xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c5: }}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o {causal = false, window = 2}
      : (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x2x16xf32>, %o: tensor<1x8x4x16xf32>, %lse: tensor<1x4x8xf32>, %p: tensor<1x8xi64>) {
  // expected-error @below {{attention_grad_c6: places say how far back a query sees, which wants causal; set causal, or leave them out}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k places(%p) gave %o, %lse from %o {causal = false}
      : (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>, tensor<1x8xi64>) -> (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}
