// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @conv1d_c1(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>) {
  // expected-error @below {{'cp.conv1d' op conv1d_c1: the result must have type 'tensor<1x16x24xf32>', but has 'tensor<1x15x24xf32>'}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x15x24xf32>
  return
}

// -----

func.func @conv1d_c2(%x: tensor<1x16x24xf32>, %w: tensor<23x4xf32>) {
  // expected-error @below {{conv1d_c2: the weight must have shape [24, 4], but has [23, 4]}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32>, tensor<23x4xf32>) -> tensor<1x16x24xf32>
  return
}

// -----

func.func @conv1d_c2_window(%x: tensor<1x16x24xf32>, %w: tensor<24x0xf32>) {
  // expected-error @below {{conv1d_c2: the window must be at least 1, but is 0}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32>, tensor<24x0xf32>) -> tensor<1x16x24xf32>
  return
}

// -----

func.func @conv1d_c2_bias(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                          %b: tensor<4xf32>) {
  // expected-error @below {{conv1d_c2: the bias must have shape [24], but has [4]}}
  %0 = cp.conv1d %x weight(%w) bias(%b)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<4xf32>)
      -> tensor<1x16x24xf32>
  return
}

// -----

func.func @conv1d_c3(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                     %i: tensor<1x4x24xf32>) {
  // expected-error @below {{conv1d_c3: initial must have shape [1, 3, 24], but has [1, 4, 24]}}
  %0 = cp.conv1d %x weight(%w) initial(%i)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x4x24xf32>)
      -> tensor<1x16x24xf32>
  return
}

// -----

func.func @conv1d_c4(%x: tensor<1x16x24xf32>, %w: tensor<24x4xbf16>) {
  // expected-error @below {{conv1d_c4: element types must agree, but 'f32' and 'bf16' were found}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32>, tensor<24x4xbf16>) -> tensor<1x16x24xf32>
  return
}

// -----

func.func @not_floats(%x: tensor<1x16x24xi32>, %w: tensor<24x4xi32>) {
  // expected-error @below {{operand #0 must be 3D tensor of floating-point values}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xi32>, tensor<24x4xi32>) -> tensor<1x16x24xi32>
  return
}

// -----

func.func @rank(%x: tensor<16x24xf32>, %w: tensor<24x4xf32>) {
  // expected-error @below {{operand #0 must be 3D tensor of floating-point values}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<16x24xf32>, tensor<24x4xf32>) -> tensor<16x24xf32>
  return
}

// -----

func.func @unknown_strategy(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>) {
  // expected-error @below {{attribute 'strategy' failed to satisfy constraint: string attribute "hidden", "sequence" or "2d"}}
  %0 = cp.conv1d %x weight(%w) {strategy = "ring"}
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
  return
}

// -----

func.func @conv1d_c6(%x: tensor<2x16x24xf32>, %w: tensor<24x4xf32>,
                     %i: tensor<2x3x24xf32>, %cu: tensor<2x3xi32>) {
  // expected-note @below {{the places are made here}}
  %p = cp.positions documents(%cu : tensor<2x3xi32>) : tensor<2x16xi64>
  // expected-error @below {{conv1d_c6: places count from the first token of each document, so nothing would read `initial`; leave it out, or give places that go on from those before, as an argument}}
  %0 = cp.conv1d %x weight(%w) initial(%i) places(%p)
      : (tensor<2x16x24xf32>, tensor<24x4xf32>, tensor<2x3x24xf32>,
         tensor<2x16xi64>) -> tensor<2x16x24xf32>
  return
}

// -----

func.func @conv1d_c5(%x: tensor<2x16x24xf32>, %w: tensor<24x4xf32>,
                     %p: tensor<1x16xi64>) {
  // expected-error @below {{conv1d_c5: places must have shape [2, 16], but has [1, 16]}}
  %0 = cp.conv1d %x weight(%w) places(%p)
      : (tensor<2x16x24xf32>, tensor<24x4xf32>, tensor<1x16xi64>)
      -> tensor<2x16x24xf32>
  return
}

// -----

func.func @places_of_i32(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>,
                         %p: tensor<1x16xi32>) {
  // expected-error @below {{operand #2 must be 2D tensor of 64-bit signless integer values}}
  %0 = cp.conv1d %x weight(%w) places(%p)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<1x16xi32>)
      -> tensor<1x16x24xf32>
  return
}
