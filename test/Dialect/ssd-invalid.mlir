// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @ssd_c1(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{'cp.ssd' op ssd_c1: y must have type 'tensor<1x16x2x8xf32>', but has 'tensor<1x16x2x9xf32>'}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x9xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c1_state(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c1: the final state must have shape [1, 2, 8, 4], but has [1, 2, 4, 8]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @ssd_c2(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x2x16xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c2: dt must have shape [1, 16, 2], but has [1, 2, 16]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x2x16xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c2_a_log(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<1xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c2: A_log must have shape [2], but has [1]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<1xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c2_dt_bias(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %bias: tensor<8xf32>) {
  // expected-error @below {{ssd_c2: dt_bias must have shape [2], but has [8]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) dt_bias(%bias)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c3(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x15x1x4xf32>, %c: tensor<1x15x1x4xf32>) {
  // expected-error @below {{ssd_c3: B must have shape [1, 16, 1, 4], but has [1, 15, 1, 4]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x15x1x4xf32>, tensor<1x15x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c3_c(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x2x4xf32>) {
  // expected-error @below {{ssd_c3: C must have type 'tensor<1x16x1x4xf32>', but has 'tensor<1x16x2x4xf32>'}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c3_groups(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x3x4xf32>, %c: tensor<1x16x3x4xf32>) {
  // expected-error @below {{ssd_c3: the number of groups (3) must divide the number of heads (2)}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x3x4xf32>, tensor<1x16x3x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c3_no_group(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x0x4xf32>, %c: tensor<1x16x0x4xf32>) {
  // expected-error @below {{ssd_c3: the number of groups must be at least 1, but is 0}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x0x4xf32>, tensor<1x16x0x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c4(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %d: tensor<8x2xf32>) {
  // expected-error @below {{ssd_c4: D must have shape [2] or [2, 8], but has [8, 2]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) D(%d)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<8x2xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c5(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %s: tensor<1x2x8x1xf32>) {
  // expected-error @below {{ssd_c5: the initial state must have shape [1, 2, 8, 4], but has [1, 2, 8, 1]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) initial(%s)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x2x8x1xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c6(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf64>, %c: tensor<1x16x1x4xf64>) {
  // expected-error @below {{ssd_c6: element types must agree, but 'f32' and 'f64' were found}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf64>, tensor<1x16x1x4xf64>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c7(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c7: chunk_size must be at least 1, but is 0}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      {chunk_size = 0}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c7_negative(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c7: chunk_size must be at least 1, but is -9223372036854775808}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      {chunk_size = -9223372036854775808}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c7_limits(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c7: dt_min must be at most dt_max, but 1.000000e+00 and 5.000000e-01 were found}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      {dt_min = 1.0, dt_max = 0.5}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c7_nan(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{ssd_c7: dt_min must be at most dt_max}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      {dt_min = 0x7FF8000000000000 : f64}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @wrong_algorithm(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      // expected-error @below {{attribute 'algorithm' failed to satisfy constraint}}
      {algorithm = "chain"}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @rank(%x: tensor<16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>) {
  // expected-error @below {{operand #0 must be 4D tensor of floating-point values}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c9(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %s: tensor<1x2x8x4xf32>,
    %cu: tensor<1x3xi32>) {
  // expected-note @below {{the places are made here}}
  %p = cp.positions documents(%cu : tensor<1x3xi32>) : tensor<1x16xi64>
  // expected-error @below {{ssd_c9: places count from the first token of each document, so nothing would read `initial`; leave it out, or give places that go on from those before, as an argument}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) initial(%s) places(%p)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x2x8x4xf32>,
         tensor<1x16xi64>) -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_c8(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %p: tensor<16x1xi64>) {
  // expected-error @below {{ssd_c8: places must have shape [1, 16], but has [16, 1]}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) places(%p)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<16x1xi64>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}
