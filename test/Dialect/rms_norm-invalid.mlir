// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @rms_norm_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.rms_norm' op rms_norm_c1: the result must have type 'tensor<4x8xf32>', but has 'tensor<8x4xf32>'}}
  %0 = cp.rms_norm %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @rms_norm_c1_gate(%x: tensor<4x8xf32>, %z: tensor<8xf32>) {
  // expected-error @below {{rms_norm_c1: the gate must have type 'tensor<4x8xf32>', but has 'tensor<8xf32>'}}
  %0 = cp.rms_norm %x gate(%z)
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rms_norm_c1_rank(%x: tensor<f32>) {
  // expected-error @below {{rms_norm_c1: x must have at least one dimension}}
  %0 = cp.rms_norm %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{rms_norm_c2: the weight must have shape [8], but has [4]}}
  %0 = cp.rms_norm %x weight(%w)
      : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rms_norm_c2_type(%x: tensor<4x8xbf16>, %w: tensor<8xf32>) {
  // expected-error @below {{rms_norm_c2: the weight must hold 'bf16', but holds 'f32'}}
  %0 = cp.rms_norm %x weight(%w)
      : (tensor<4x8xbf16>, tensor<8xf32>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{rms_norm_c3: groups (3) must divide the number of channels (8)}}
  %0 = cp.rms_norm %x {groups = 3} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rms_norm_c3_least(%x: tensor<4x8xf32>) {
  // expected-error @below {{rms_norm_c3: groups must be at least 1, but is 0}}
  %0 = cp.rms_norm %x {groups = 0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rms_norm_c3_negative(%x: tensor<4x8xf32>) {
  // expected-error @below {{rms_norm_c3: groups must be at least 1, but is -9223372036854775808}}
  %0 = cp.rms_norm %x {groups = -9223372036854775808}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
