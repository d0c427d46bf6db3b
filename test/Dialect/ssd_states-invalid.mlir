// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @ssd_states_c1(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x15x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{'cp.ssd_states' op ssd_states_c1: dt must have shape [1, 16, 2], but has [1, 15, 2]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x15x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c1_a_log(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<1xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c1: A_log must have shape [2], but has [1]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<1xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c1_dt_bias(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>,
    %bias: tensor<1xf32>) {
  // expected-error @below {{ssd_states_c1: dt_bias must have shape [2], but has [1]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) dt_bias(%bias) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c1_b(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<2x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c1: B must have shape [1, 16, 1, 4], but has [2, 16, 1, 4]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<2x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c1_groups(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x3x4xf32>) {
  // expected-error @below {{ssd_states_c1: the number of groups (3) must divide the number of heads (2)}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x3x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c1_no_group(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x0x4xf32>) {
  // expected-error @below {{ssd_states_c1: the number of groups must be at least 1, but is 0}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x0x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: decay must have shape [1, 2], but has [2, 1]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<2x1xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2_state(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: state must have shape [1, 2, 8, 4], but has [1, 2, 8, 1]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x1xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2_chunks(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: chunk states must have shape [1, 4, 2, 8, 4], but has [1, 3, 2, 8, 4]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 5}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x3x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2_delta(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: delta must have shape [1, 16, 2], but has [1, 2, 16]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x2x16xf32>)
  return
}

// -----

func.func @ssd_states_c2_chunk_size(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: chunk_size must be at least 1, but is -1}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = -1}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2_huge_chunk(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: chunk states must have shape [1, 1, 2, 8, 4], but has [1, 2, 2, 8, 4]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {chunk_size = 9223372036854775807}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c2_limits(%x: tensor<1x16x2x8xf32>,
    %dt: tensor<1x16x2xf32>, %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_states_c2: dt_min must be at most dt_max, but 1.000000e+00 and 5.000000e-01 were found}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) {dt_min = 1.0, dt_max = 0.5}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x1x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}

// -----

func.func @ssd_states_c3(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %p: tensor<1x8xi64>) {
  // expected-error @below {{ssd_states_c3: places must have shape [1, 16], but has [1, 8]}}
  %decay, %state, %chunks, %delta = cp.ssd_states %x dt(%dt) A_log(%a)
      B(%b) places(%p) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x8xi64>)
      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>,
          tensor<1x16x2xf32>)
  return
}
