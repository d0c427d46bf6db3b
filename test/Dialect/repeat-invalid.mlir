// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @repeat_c1(%b: tensor<1x8xf32>) {
  // expected-error @below {{'cp.repeat' op repeat_c1: dim must be below 2, but is 2}}
  %0 = cp.repeat %b {dim = 2, unit = 1, times = 2} : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}

// -----

func.func @repeat_c1_negative(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c1: dim must be below 2, but is -1}}
  %0 = cp.repeat %b {dim = -1, unit = 1, times = 2} : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}

// -----

func.func @repeat_c1_rank_zero(%b: tensor<f32>) {
  // expected-error @below {{repeat_c1: dim must be below 0, but is 0}}
  %0 = cp.repeat %b {dim = 0, unit = 1, times = 1} : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @repeat_c1_unit(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c1: unit must be at least 1, but is 0}}
  %0 = cp.repeat %b {dim = 1, unit = 0, times = 2} : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}

// -----

func.func @repeat_c1_times(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c1: times must be at least 1, but is -2}}
  %0 = cp.repeat %b {dim = 1, unit = 1, times = -2} : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}

// -----

func.func @repeat_c1_divides(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c1: unit (3) must divide the size (8)}}
  %0 = cp.repeat %b {dim = 1, unit = 3, times = 2} : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}

// -----

func.func @repeat_c2(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c2: the result must have shape [1, 16], but has [1, 8]}}
  %0 = cp.repeat %b {dim = 1, unit = 1, times = 2} : tensor<1x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @repeat_c2_type(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c2: the result must hold 'f32', but holds 'i32'}}
  %0 = cp.repeat %b {dim = 1, unit = 1, times = 2} : tensor<1x8xf32> -> tensor<1x16xi32>
  return
}

// -----

func.func @repeat_c2_overflow(%b: tensor<1x8xf32>) {
  // expected-error @below {{repeat_c2: a size of 8 times 9223372036854775807 is beyond 64 bits; make it smaller}}
  %0 = cp.repeat %b {dim = 1, unit = 1, times = 9223372036854775807}
      : tensor<1x8xf32> -> tensor<1x16xf32>
  return
}
