// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @positions_of_i32() {
  // expected-error @below {{result #0 must be 1D/2D tensor of 64-bit signless integer values}}
  %0 = cp.positions : tensor<64xi32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @group_c1() attributes {cp.view = "local"} {
  // expected-error @below {{'cp.cut_positions' op group_c1: #cp.mesh<"cp" = 4> has no axis "tp"}}
  %0 = cp.cut_positions over ["tp"] of #mesh : tensor<16xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @layout_c5() attributes {cp.view = "local"} {
  // expected-error @below {{'cp.cut_positions' op layout_c5: dimension 0 of size 60 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.cut_positions over ["cp" zigzag] of #mesh : tensor<15xi64>
  return
}

// -----

func.func @rotary_c1(%x: tensor<1x16x2x8xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{'cp.rotary' op rotary_c1: the result must have type 'tensor<1x16x2x8xf32>', but has 'tensor<1x16x2x8xf64>'}}
  %0 = cp.rotary %x positions(%p)
      : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf64>
  return
}

// -----

func.func @rotary_c2(%x: tensor<1x16x2x8xf32>, %p: tensor<8xi64>) {
  // expected-error @below {{rotary_c2: positions must have shape [16], but has [8]}}
  %0 = cp.rotary %x positions(%p)
      : (tensor<1x16x2x8xf32>, tensor<8xi64>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<1x16x2x8xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{rotary_c3: channels are turned in pairs, so their number must be even, at least 2 and at most that of a head (8), but is 10}}
  %0 = cp.rotary %x positions(%p) {dims = 10}
      : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @rotary_c3_odd(%x: tensor<1x16x2x?xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{rotary_c3: channels are turned in pairs, so their number must be even, at least 2 and at most that of a head, but is 3}}
  %0 = cp.rotary %x positions(%p) {dims = 3}
      : (tensor<1x16x2x?xf32>, tensor<16xi64>) -> tensor<1x16x2x?xf32>
  return
}

// -----

func.func @rotary_c3_whole(%x: tensor<1x16x2x7xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{that of a head (7), but is 7}}
  %0 = cp.rotary %x positions(%p)
      : (tensor<1x16x2x7xf32>, tensor<16xi64>) -> tensor<1x16x2x7xf32>
  return
}

// -----

func.func @rotary_c4(%x: tensor<1x16x2x8xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{rotary_c4: theta must be a number above 0, but is 0}}
  %0 = cp.rotary %x positions(%p) {theta = 0.0}
      : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @rotary_c4_nan(%x: tensor<1x16x2x8xf32>, %p: tensor<16xi64>) {
  // expected-error @below {{rotary_c4: theta must be a number above 0, but is}}
  %0 = cp.rotary %x positions(%p) {theta = 0x7FF8000000000000 : f64}
      : (tensor<1x16x2x8xf32>, tensor<16xi64>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @rotary_c2_batch(%x: tensor<2x16x2x8xf32>, %p: tensor<1x16xi64>) {
  // expected-error @below {{rotary_c2: positions must have shape [2, 16], but has [1, 16]}}
  %0 = cp.rotary %x positions(%p)
      : (tensor<2x16x2x8xf32>, tensor<1x16xi64>) -> tensor<2x16x2x8xf32>
  return
}
