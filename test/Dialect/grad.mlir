// RUN: %cp-opt %s | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --mlir-print-op-generic | %cp-opt | FileCheck %s

// CHECK-LABEL: func.func @stop
// CHECK: cp.stop_gradient %{{.*}} : tensor<4xf32>
func.func @stop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = cp.stop_gradient %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @conv
// CHECK: cp.conv1d_grad %{{.*}} weight(%{{.*}}) bias(%{{.*}}) initial(%{{.*}}) places(%{{.*}}) from %{{.*}} {silu = true}
func.func @conv(%x: tensor<1x16x24xbf16>, %w: tensor<24x4xbf16>, %b: tensor<24xbf16>,
                %i: tensor<1x3x24xbf16>, %p: tensor<1x16xi64>) {
  %dx, %dw, %db, %di = cp.conv1d_grad %x weight(%w) bias(%b) initial(%i) places(%p) from %x {silu = true}
      : (tensor<1x16x24xbf16>, tensor<24x4xbf16>, tensor<1x16x24xbf16>, tensor<24xbf16>, tensor<1x3x24xbf16>, tensor<1x16xi64>)
      -> (tensor<1x16x24xbf16>, tensor<24x4xf32>, tensor<24xf32>, tensor<1x3x24xbf16>)
  return
}

// CHECK-LABEL: func.func @norm
// CHECK: cp.rms_norm_grad %{{.*}} weight(%{{.*}}) gate(%{{.*}}) from %{{.*}} {gate_first = false}
func.func @norm(%x: tensor<2x24xf64>, %w: tensor<24xf64>) {
  %dx, %dw, %dz = cp.rms_norm_grad %x weight(%w) gate(%x) from %x {gate_first = false}
      : (tensor<2x24xf64>, tensor<2x24xf64>, tensor<24xf64>, tensor<2x24xf64>)
      -> (tensor<2x24xf64>, tensor<24xf64>, tensor<2x24xf64>)
  return
}

// CHECK-LABEL: func.func @tokens
// CHECK: cp.embedding_grad %{{.*}} from %{{.*}}
func.func @tokens(%ids: tensor<1x16xi64>, %dy: tensor<1x16x8xbf16>) -> tensor<96x8xf32> {
  %0 = cp.embedding_grad %ids from %dy : (tensor<1x16xi64>, tensor<1x16x8xbf16>) -> tensor<96x8xf32>
  return %0 : tensor<96x8xf32>
}

// CHECK-LABEL: func.func @scan
// CHECK: cp.ssd_grad %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) C(%{{.*}}) D(%{{.*}}) dt_bias(%{{.*}}) from %{{.*}} and %{{.*}} :
func.func @scan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>, %s: tensor<1x2x8x4xf32>) {
  %dx, %ddt, %da, %db, %dc, %dd, %dbias, %ds = cp.ssd_grad %x dt(%dt) A_log(%a) B(%b) C(%b) D(%a) dt_bias(%a) from %x and %s
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16x2x8xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1x2x8x4xf32>)
  return
}

// CHECK-LABEL: func.func @rows
// CHECK: cp.attention_grad %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) positions(%{{.*}}) gave %{{.*}}, %{{.*}} from %{{.*}} {form = "gather"}
func.func @rows(%q: tensor<1x8x4x16xf32>, %k: tensor<1x32x2x16xf32>, %lse: tensor<1x4x8xf32>, %p: tensor<1x8xi64>, %at: tensor<8xi64>) {
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k places(%p) positions(%at) gave %q, %lse from %q {form = "gather"}
      : (tensor<1x8x4x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8xf32>,
         tensor<1x8x4x16xf32>, tensor<1x8xi64>, tensor<8xi64>)
      -> (tensor<1x8x4x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>)
  return
}

// CHECK-LABEL: func.func @heads
// CHECK: cp.attention_grad %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) gave %{{.*}}, %{{.*}} from %{{.*}} and %{{.*}} {scale = 5.000000e-01 : f64, window = 4 : i64}
func.func @heads(%q: tensor<1x8x4x16xbf16>, %k: tensor<1x8x2x16xbf16>, %lse: tensor<1x4x8xf32>, %p: tensor<1x8xi64>) {
  %dq, %dk, %dv = cp.attention_grad %q, %k, %k places(%p) gave %q, %lse from %q and %lse {window = 4, scale = 0.5}
      : (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>,
         tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>, tensor<1x8xi64>)
      -> (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}

// CHECK-LABEL: func.func @ring
// CHECK: cp.ring_attention_grad %{{.*}}, %{{.*}}, %{{.*}} places(%{{.*}}) gave %{{.*}}, %{{.*}} from %{{.*}} and %{{.*}} over ["cp" zigzag, "u"] of #mesh {window = 4 : i64}
// CHECK: cp.ring_attention_grad %{{.*}}, %{{.*}}, %{{.*}} gave %{{.*}}, %{{.*}} from %{{.*}} over ["cp"] of #mesh {causal = false, scale = 5.000000e-01 : f64}
func.func @ring(%q: tensor<1x8x4x16xbf16>, %k: tensor<1x8x2x16xbf16>, %lse: tensor<1x4x8xf32>, %p: tensor<1x8xi64>)
    attributes {cp.view = "local"} {
  %dq, %dk, %dv = cp.ring_attention_grad %q, %k, %k places(%p) gave %q, %lse from %q and %lse
      over ["cp" zigzag, "u"] of #cp.mesh<"cp" = 4, "u" = 2> {window = 4}
      : (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>,
         tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>, tensor<1x8xi64>)
      -> (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  %dq1, %dk1, %dv1 = cp.ring_attention_grad %q, %k, %k gave %q, %lse from %q
      over ["cp"] of #cp.mesh<"cp" = 4, "u" = 2> {scale = 0.5, causal = false}
      : (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x2x16xbf16>, tensor<1x8x4x16xbf16>, tensor<1x4x8xf32>,
         tensor<1x8x4x16xbf16>)
      -> (tensor<1x8x4x16xbf16>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return
}

// CHECK-LABEL: func.func @loss
// CHECK: %losses, %lse = cp.linear_cross_entropy %{{.*}}, %{{.*}} labels(%{{.*}}) {ignore_index = 0 : i64}
// CHECK: cp.linear_cross_entropy_grad %{{.*}}, %{{.*}} labels(%{{.*}}) gave %lse from %losses :
// CHECK: cp.linear_cross_entropy_grad %{{.*}}, %{{.*}} labels(%{{.*}}) gave %lse from %losses and %lse {ignore_index = 0 : i64}
func.func @loss(%h: tensor<1x16x8xbf16>, %w: tensor<?x8xbf16>, %labels: tensor<1x16xi64>) {
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) {ignore_index = 0 : i64}
      : (tensor<1x16x8xbf16>, tensor<?x8xbf16>, tensor<1x16xi64>) -> (tensor<1x16xf32>, tensor<1x16xf32>)
  %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %lse from %losses
      : (tensor<1x16x8xbf16>, tensor<?x8xbf16>, tensor<1x16xi64>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x16x8xbf16>, tensor<?x8xf32>)
  %dh1, %dw1 = cp.linear_cross_entropy_grad %h, %w labels(%labels) gave %lse from %losses and %lse {ignore_index = 0 : i64}
      : (tensor<1x16x8xbf16>, tensor<?x8xbf16>, tensor<1x16xi64>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x16x8xbf16>, tensor<?x8xf32>)
  return
}

// CHECK-LABEL: func.func @slices
// CHECK: cp.linear_cross_entropy %{{.*}}, %{{.*}} labels(%{{.*}}) rows(%{{.*}} of 96) {ignore_index = 0 : i64}
// CHECK: cp.linear_cross_entropy_grad %{{.*}}, %{{.*}} labels(%{{.*}}) rows(%{{.*}} of 96) gave %lse from %losses and %lse :
func.func @slices(%h: tensor<1x16x8xbf16>, %w: tensor<48x8xbf16>, %labels: tensor<1x16xi64>, %rows: tensor<2xi64>) {
  %losses, %lse = cp.linear_cross_entropy %h, %w labels(%labels) rows(%rows of 96) {ignore_index = 0 : i64}
      : (tensor<1x16x8xbf16>, tensor<48x8xbf16>, tensor<1x16xi64>, tensor<2xi64>) -> (tensor<1x16x2xf32>, tensor<1x16x2xf32>)
  %dh, %dw = cp.linear_cross_entropy_grad %h, %w labels(%labels) rows(%rows of 96) gave %lse from %losses and %lse
      : (tensor<1x16x8xbf16>, tensor<48x8xbf16>, tensor<1x16xi64>, tensor<2xi64>, tensor<1x16x2xf32>, tensor<1x16x2xf32>, tensor<1x16x2xf32>)
      -> (tensor<1x16x8xbf16>, tensor<48x8xf32>)
  return
}

// CHECK-LABEL: func.func @states
// CHECK: cp.ssd_grad_states %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) C(%{{.*}}) :
// CHECK: cp.ssd_grad_states %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) C(%{{.*}}) dt_bias(%{{.*}}) places(%{{.*}}) {chunk_size = 8 : i64}
func.func @states(%dy: tensor<1x16x2x8xbf16>, %dt: tensor<1x16x2xbf16>, %a: tensor<2xbf16>,
                  %c: tensor<1x16x1x4xbf16>, %p: tensor<1x16xi64>) {
  %0 = cp.ssd_grad_states %dy dt(%dt) A_log(%a) C(%c)
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2xbf16>, tensor<2xbf16>, tensor<1x16x1x4xbf16>) -> tensor<1x2x8x4xf32>
  %1 = cp.ssd_grad_states %dy dt(%dt) A_log(%a) C(%c) dt_bias(%a) places(%p) {chunk_size = 8}
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2xbf16>, tensor<2xbf16>, tensor<1x16x1x4xbf16>, tensor<2xbf16>, tensor<1x16xi64>) -> tensor<1x2x8x4xf32>
  return
}
