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
  // expected-error @below {{attention_grad_c4: causal wants as many keys as queries, but there are 6 keys and 8 queries; give the queries' positions}}
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

// -----

func.func @rows(%q: tensor<1x8x4x16xf32>, %k: tensor<1x16x2x16xf32>, %lse: tensor<1x4x8xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{attention_grad_c7: positions must have shape [8], but has [16]}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k positions(%p) gave %q, %lse from %q
      : (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>, tensor<16xi64>) -> (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>)
  return
}

// -----

func.func @rows(%q: tensor<1x8x4x16xf32>, %k: tensor<1x16x2x16xf32>, %lse: tensor<1x4x8xf32>, %p: tensor<8xi64>) {
  // expected-error @below {{attention_grad_c7: positions say which keys a causal query sees; set causal, or leave them out}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k positions(%p) gave %q, %lse from %q {causal = false}
      : (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>, tensor<8xi64>) -> (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xbf16>, %k: tensor<1x8x2x16xbf16>, %o: tensor<1x8x4x16xbf16>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c3: dk must hold 'f32', but holds 'bf16'}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %o, %lse from %o
      : (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>, tensor<1x8x4x16xbf16>) -> (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>)
  return
}

// -----

func.func @rows(%q: tensor<1x8x4x16xf32>, %k: tensor<1x16x2x16xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error @below {{attention_grad_c4: form = "ring" or "2d" wants as many keys as queries, but there are 16 keys and 8 queries; choose another form}}
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k gave %q, %lse from %q {causal = false, form = "ring"}
      : (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @ring(%q: tensor<1x8x4x16xf32>, %k: tensor<1x16x2x16xf32>, %lse: tensor<1x4x8xf32>) attributes {cp.view = "local"} {
  // expected-error @below {{'cp.ring_attention_grad' op attention_grad_c4: a ring wants as many keys as queries, but there are 16 keys and 8 queries; cut both alike}}
  %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k gave %q, %lse from %q over ["cp"] of #mesh
      : (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @ring(%q: tensor<1x7x4x16xf32>, %k: tensor<1x7x2x16xf32>, %lse: tensor<1x4x7xf32>) attributes {cp.view = "local"} {
  // expected-error @below {{'cp.ring_attention_grad' op layout_c5: }}
  %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k gave %q, %lse from %q over ["cp" zigzag] of #mesh
      : (tensor<1x7x4x16xf32>, tensor<1x7x2x16xf32>, tensor<1x7x2x16xf32>, tensor<1x7x4x16xf32>, tensor<1x4x7xf32>, tensor<1x7x4x16xf32>) -> (tensor<1x7x4x16xf32>, tensor<1x7x2x16xf32>, tensor<1x7x2x16xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @ring(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x2x16xf32>, %lse: tensor<1x4x8xf32>) attributes {cp.view = "local"} {
  // expected-error @below {{'cp.ring_attention_grad' op group_c1: }}
  %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k gave %q, %lse from %q over ["u"] of #mesh
      : (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>, tensor<1x8x4x16xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}

// -----

func.func @loss(%h: tensor<1x16x8xf32>, %w: tensor<9x7xf32>, %labels: tensor<1x16xi32>) {
  // expected-error @below {{'cp.linear_cross_entropy' op linear_cross_entropy_c1: W must have shape [9, 8], but has [9, 7]}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
      : (tensor<1x16x8xf32>, tensor<9x7xf32>, tensor<1x16xi32>) -> (tensor<1x16xf32>, tensor<1x16xf32>)
  return
}

// -----

func.func @loss(%h: tensor<1x16x8xf32>, %w: tensor<9x8xf32>, %labels: tensor<1x15xi32>) {
  // expected-error @below {{linear_cross_entropy_c1: labels must have shape [1, 16], but has [1, 15]}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
      : (tensor<1x16x8xf32>, tensor<9x8xf32>, tensor<1x15xi32>) -> (tensor<1x16xf32>, tensor<1x16xf32>)
  return
}

// -----

func.func @loss(%h: tensor<1x16x8xbf16>, %w: tensor<9x8xbf16>, %labels: tensor<1x16xi32>) {
  // expected-error @below {{linear_cross_entropy_c2: the losses must hold 'f32', but holds 'bf16'}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels)
      : (tensor<1x16x8xbf16>, tensor<9x8xbf16>, tensor<1x16xi32>) -> (tensor<1x16xbf16>, tensor<1x16xf32>)
  return
}

// -----

func.func @loss_grad(%h: tensor<1x16x8xf32>, %w: tensor<9x8xf32>, %labels: tensor<1x16xi32>, %t: tensor<1x16xf32>) {
  // expected-error @below {{linear_cross_entropy_grad_c1: dh must hold 'f32', but holds 'f64'}}
  %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %t from %t
      : (tensor<1x16x8xf32>, tensor<9x8xf32>, tensor<1x16xi32>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x16x8xf64>, tensor<9x8xf32>)
  return
}

// -----

func.func @loss_grad(%h: tensor<1x16x8xf32>, %w: tensor<9x8xf32>, %labels: tensor<1x16xi32>, %t: tensor<1x16xf32>) {
  // expected-error @below {{linear_cross_entropy_grad_c2: dW must have shape [9, 8], but has [8, 8]}}
  %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %t from %t
      : (tensor<1x16x8xf32>, tensor<9x8xf32>, tensor<1x16xi32>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x16x8xf32>, tensor<8x8xf32>)
  return
}

// -----

func.func @slices(%h: tensor<1x16x8xf32>, %w: tensor<9x8xf32>, %labels: tensor<1x16xi32>, %rows: tensor<2xi64>) {
  // expected-error @below {{linear_cross_entropy_c3: 9 rows of W must be slices of equal size, but 'rows' has 2}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) rows(%rows of 9)
      : (tensor<1x16x8xf32>, tensor<9x8xf32>, tensor<1x16xi32>, tensor<2xi64>) -> (tensor<1x16x2xf32>, tensor<1x16x2xf32>)
  return
}

// -----

func.func @slices(%h: tensor<1x16x8xf32>, %w: tensor<8x8xf32>, %labels: tensor<1x16xi32>, %rows: tensor<2xi64>) {
  // expected-error @below {{linear_cross_entropy_c3: the vocabulary must have W's 8 rows or more, but has 7}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) rows(%rows of 7)
      : (tensor<1x16x8xf32>, tensor<8x8xf32>, tensor<1x16xi32>, tensor<2xi64>) -> (tensor<1x16x2xf32>, tensor<1x16x2xf32>)
  return
}

// -----

func.func @slices(%h: tensor<1x16x8xf32>, %w: tensor<8x8xf32>, %labels: tensor<1x16xi32>, %rows: tensor<2xi64>) {
  // expected-error @below {{linear_cross_entropy_c2: the losses must have shape [1, 16, 2], but has [1, 16]}}
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) rows(%rows of 8)
      : (tensor<1x16x8xf32>, tensor<8x8xf32>, tensor<1x16xi32>, tensor<2xi64>) -> (tensor<1x16xf32>, tensor<1x16x2xf32>)
  return
}

// -----

func.func @slices(%h: tensor<1x16x8xf32>, %w: tensor<8x8xf32>, %labels: tensor<1x16xi32>, %t: tensor<1x16xf32>) {
  // expected-error @below {{linear_cross_entropy_grad_c3: has a vocabulary of 8 rows but no 'rows'; say with which row of it each slice starts}}
  %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %t from %t {vocabulary = 8 : i64}
      : (tensor<1x16x8xf32>, tensor<8x8xf32>, tensor<1x16xi32>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x16x8xf32>, tensor<8x8xf32>)
  return
}

// -----

func.func @states(%dy: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<3xf32>,
                  %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_grad_states_c1: A_log must have shape [2], but has [3]}}
  %0 = cp.ssd_grad_states %dy dt(%dt) A_log(%a) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<3xf32>, tensor<1x16x1x4xf32>) -> tensor<1x2x8x4xf32>
  return
}

// -----

func.func @states(%dy: tensor<1x16x2x8xbf16>, %dt: tensor<1x16x2xbf16>, %a: tensor<2xbf16>,
                  %c: tensor<1x16x1x4xbf16>) {
  // expected-error @below {{ssd_grad_states_c2: the result must hold 'f32', but holds 'bf16'}}
  %0 = cp.ssd_grad_states %dy dt(%dt) A_log(%a) C(%c)
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2xbf16>, tensor<2xbf16>, tensor<1x16x1x4xbf16>) -> tensor<1x2x8x4xbf16>
  return
}
