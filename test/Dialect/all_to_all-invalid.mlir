// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op group_c1: at least one axis must be named}}
  %0 = cp.all_to_all %x over [] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.all_to_all %x over ["tp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op group_c1: axis "cp" is named twice}}
  %0 = cp.all_to_all %x over ["cp", "cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0, 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_split(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_results(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0:2 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>)
      -> (tensor<16x2xf32>, tensor<16x2xf32>)
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_concat_zigzag(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_zigzag = array<i1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_split_zigzag(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_zigzag = array<i1: true, true>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_repeats(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: 1, 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_repeat_units(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeat_units = array<i64>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_no_operands() {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 0 operands, and there must be one}}
  "cp.all_to_all"() {mesh = #mesh, axes = ["cp"], concat_dims = array<i64>,
                      split_dims = array<i64>} : () -> ()
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c2: concat and split dimension of operand 0 must differ, but both are 1}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c2_concat(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c2: the dimension must be below 2, but is 2}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 2>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c2_split(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c2: the dimension must be below 2, but is -1}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: -1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: a result must have shape [16, 2], but has [4, 8]}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: a result must hold 'f32', but holds 'f64'}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf64>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_unknown(%x: tensor<4x?xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size ?, repeated 0 times in units of 1, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: 0>, repeat_units = array<i64: 1>}
      : (tensor<4x?xf32>) -> tensor<16x?xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_unknown(%x: tensor<4x?xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size ?, repeated 0 times in units of 1, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: 0>, repeat_units = array<i64: 1>}
      : (tensor<4x?xf32>) -> tensor<16x?xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_divides(%x: tensor<4x6xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size 6, repeated 1 times in units of 1, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<4x6xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_units(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size 8, repeated 2 times in units of 3, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: 2>, repeat_units = array<i64: 3>}
      : (tensor<4x8xf32>) -> tensor<16x4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_no_unit(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size 8, repeated 1 times in units of 0, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>, repeat_units = array<i64: 0>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_no_times(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: dimension 1 of operand 0, of size 8, repeated -9223372036854775808 times in units of 1, cannot be split over 4 ranks}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: -9223372036854775808>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_times(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c3: a size of 8 times 9223372036854775807 is beyond 64 bits; make it smaller}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       repeats = array<i64: 9223372036854775807>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c3_overflow(%x: tensor<9223372036854775807x8xf32>) {
  // expected-error @below {{all_to_all_c3: a size of 9223372036854775807 times 4 is beyond 64 bits; make it smaller}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<9223372036854775807x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_striped(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: }}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_striped = array<i64: 1, 1>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_concat(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c4: stripes of 3 must divide a rank's part, which has 4 elements}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_striped = array<i64: 3>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_split(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c4: stripes of 4 must divide a rank's part, which has 2 elements}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_striped = array<i64: 4>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_both(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c4: a cut cannot be zigzag and striped at once}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_striped = array<i64: 1>,
       split_zigzag = array<i1: true>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_negative(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c4: the unit of a striped cut must be at least 1}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_striped = array<i64: -2>}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}
