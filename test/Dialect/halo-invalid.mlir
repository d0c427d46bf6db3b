// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.halo' op group_c1: at least one axis must be named}}
  %0 = cp.halo %x over [] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.halo' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.halo %x over ["tp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.halo' op group_c1: axis "cp" is named twice}}
  %0 = cp.halo %x over ["cp", "cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c1: there must be one result for each of the 1 sources, and as many initial rows or none}}
  %0:2 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>)
      -> (tensor<3x8xf32>, tensor<3x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c1_initial(%x: tensor<4x8xf32>, %i: tensor<3x8xf32>) {
  // expected-error @below {{halo_c1: there must be one result for each of the 1 sources, and as many initial rows or none}}
  %0 = cp.halo %x initial(%i, %i) over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c1_no_sources() {
  // expected-error @below {{halo_c1: there must be one result for each of the 0 sources}}
  "cp.halo"() {mesh = #mesh, cuts = [#cp.cut<"cp">], dim = 0, before = 1,
               operandSegmentSizes = array<i32: 0, 0>} : () -> ()
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c2_none(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c2: there must be one of before and after, but none is given}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0}
      : (tensor<4x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c2_both(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c2: there must be one of before and after, but both are given}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 2, after = 2}
      : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c2_after(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c2: after must be at least 1, but is -1}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, after = -1}
      : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c2_before(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c2: before must be at least 1, but is 0}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 0}
      : (tensor<4x8xf32>) -> tensor<0x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c2_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c2: the dimension must be below 2, but is 2}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 2, before = 3}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3_huge(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c3: a result must have shape [9223372036854775807, 8], but has [3, 8]}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 9223372036854775807}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c4_huge(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c4: }}
  %0 = cp.halo %x over ["cp" zigzag] of #mesh {dim = 0, before = 9223372036854775807}
      : (tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c3: a result must have shape [3, 8], but has [4, 8]}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c3: a result must hold 'f32', but holds 'bf16'}}
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>) -> tensor<3x8xbf16>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3_initial(%x: tensor<4x8xf32>) {
  // expected-error @below {{halo_c3: initial rows must have type 'tensor<3x8xf32>', but has 'tensor<4x8xf32>'}}
  %0 = cp.halo %x initial(%x) over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3_zigzag(%x: tensor<8x8xf32>) {
  // expected-error @below {{halo_c3: a result must have shape [6, 8], but has [3, 8]}}
  %0 = cp.halo %x over ["cp" zigzag] of #mesh {dim = 0, before = 3}
      : (tensor<8x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c4_odd(%x: tensor<7x8xf32>) {
  // expected-error @below {{halo_c4: in this order a rank's rows are 2 parts of one size, but there are 7; use another length or number of ranks}}
  %0 = cp.halo %x over ["cp" zigzag] of #mesh {dim = 0, before = 3}
      : (tensor<7x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @halo_c3_zigzag_initial(%x: tensor<8x8xf32>, %i: tensor<6x8xf32>) {
  // expected-error @below {{halo_c3: initial rows must have type 'tensor<3x8xf32>', but has 'tensor<6x8xf32>'}}
  %0 = cp.halo %x initial(%i) over ["cp" zigzag] of #mesh
      {dim = 0, before = 3}
      : (tensor<8x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @parts_c1(%x: tensor<8x8xf32>) {
  // expected-error @below {{'cp.halo' op parts_c1: the cuts must be contiguous, or one zigzag cut, but are striped; reorder the sequence first}}
  %0 = cp.halo %x over ["cp" striped] of #mesh {dim = 0, before = 3}
      : (tensor<8x8xf32>) -> tensor<3x8xf32>
  return
}
