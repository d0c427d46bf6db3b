// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @states
// CHECK: cp.ssd_states %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) : (
func.func @states(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
                  %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 64, dt_min = 0.0}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x1x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// Chunks of 5 tokens: the last of the four holds one. Summaries are wider than
// the activations.
// CHECK-LABEL: @states_all
// CHECK: cp.ssd_states %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) dt_bias(%{{.*}}) {chunk_size = 5 : i64, dt_max = 1.000000e-01 : f64, dt_min = 1.000000e-03 : f64} : (
// CHECK-SAME: -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x4x2x8x4xf32>, tensor<1x16x2xf32>)
func.func @states_all(%x: tensor<1x16x2x8xbf16>, %dt: tensor<1x16x2xbf16>,
                      %a: tensor<2xbf16>, %b: tensor<1x16x1x4xbf16>) {
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) dt_bias(%a) {chunk_size = 5, dt_min = 0.001, dt_max = 0.1}
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2xbf16>, tensor<2xbf16>,
         tensor<1x16x1x4xbf16>, tensor<2xbf16>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x4x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// CHECK-LABEL: @scan
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x16x2x8xf32>, %[[A:[a-z0-9]+]]: tensor<2xf32>, %[[B:[a-z0-9]+]]: tensor<1x16x1x4xf32>, %[[CHUNKS:[a-z0-9]+]]: tensor<1x1x2x8x4xf32>, %[[DT:[a-z0-9]+]]: tensor<1x16x2xf32>, %[[PD:[a-z0-9]+]]: tensor<1x2xf32>, %[[PS:[a-z0-9]+]]: tensor<1x2x8x4xf32>
// CHECK: cp.ssd_scan %[[X]] A_log(%[[A]]) B(%[[B]]) C(%[[B]]) kept(%[[CHUNKS]], %[[DT]]) prefix(%[[PD]], %[[PS]]) : (
func.func @scan(%x: tensor<1x16x2x8xf32>, %a: tensor<2xf32>,
                %b: tensor<1x16x1x4xf32>, %chunks: tensor<1x1x2x8x4xf32>,
                %dt: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
                %ps: tensor<1x2x8x4xf32>) {
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%b) kept(%chunks, %dt)
      prefix(%pd, %ps)
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x1x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// CHECK-LABEL: @scan_all
// CHECK: cp.ssd_scan %{{.*}} A_log(%{{.*}}) B(%{{.*}}) C(%{{.*}}) D(%{{.*}}) kept(%{{.*}}, %{{.*}}) prefix(%{{.*}}, %{{.*}}) initial(%{{.*}}) {chunk_size = 8 : i64} : (
func.func @scan_all(%x: tensor<1x16x2x8xf32>, %a: tensor<2xf32>,
                    %b: tensor<1x16x1x4xf32>, %d: tensor<2x8xf32>,
                    %chunks: tensor<1x2x2x8x4xf32>, %dt: tensor<1x16x2xf32>,
                    %pd: tensor<1x2xf32>, %ps: tensor<1x2x8x4xf32>) {
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%b) D(%d) kept(%chunks, %dt)
      prefix(%pd, %ps) initial(%ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<2x8xf32>, tensor<1x2x2x8x4xf32>,
         tensor<1x16x2xf32>, tensor<1x2xf32>, tensor<1x2x8x4xf32>,
         tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.ssd_states
// CHECK: cp.ssd_scan
func.func @dynamic(%x: tensor<?x?x?x?xf32>, %dt: tensor<?x?x?xf32>,
                   %a: tensor<?xf32>, %b: tensor<?x?x?x?xf32>) {
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xf32>,
         tensor<?x?x?x?xf32>)
      -> (tensor<?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?x?xf32>,
          tensor<?x?x?xf32>)
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%b) kept(%chunks, %delta)
      prefix(%decay, %state)
      : (tensor<?x?x?x?xf32>, tensor<?xf32>, tensor<?x?x?x?xf32>,
         tensor<?x?x?x?xf32>, tensor<?x?x?x?x?xf32>, tensor<?x?x?xf32>,
         tensor<?x?xf32>, tensor<?x?x?x?xf32>)
      -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
  return
}

// CHECK-LABEL: @places
// CHECK: cp.ssd_states %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) places(%{{.*}}) :
// CHECK: cp.ssd_scan {{.*}} prefix(%{{.*}}, %{{.*}}) places(%{{.*}}) :
func.func @places(%x: tensor<?x?x?x?xf32>, %dt: tensor<?x?x?xf32>,
                  %a: tensor<?xf32>, %b: tensor<?x?x?x?xf32>,
                  %p: tensor<?x?xi64>) {
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) places(%p)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xf32>,
         tensor<?x?x?x?xf32>, tensor<?x?xi64>)
      -> (tensor<?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?x?xf32>,
          tensor<?x?x?xf32>)
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%b) kept(%chunks, %delta)
      prefix(%decay, %state) places(%p)
      : (tensor<?x?x?x?xf32>, tensor<?xf32>, tensor<?x?x?x?xf32>,
         tensor<?x?x?x?xf32>, tensor<?x?x?x?x?xf32>, tensor<?x?x?xf32>,
         tensor<?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?xi64>)
      -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
  return
}
