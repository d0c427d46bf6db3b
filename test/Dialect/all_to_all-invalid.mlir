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
func.func @all_to_all_c1_concat_cuts(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_cuts = []}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c1_split_cuts(%x: tensor<4x8xf32>) {
  // expected-error @below {{all_to_all_c1: results and arrays must have one entry for each of the 1 operands, and there must be one}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp" zigzag>]}
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
func.func @layout_c5_concat(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op layout_c5: dimension 0 of size 16 does not divide by 4 (axis "cp", striped) x 3 (unit); pad the dimension to a multiple, or cut it over a smaller axis}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_cuts = [#cp.cut<"cp" striped : 3>]}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_split(%x: tensor<4x4xf32>) {
  // expected-error @below {{'cp.all_to_all' op layout_c5: dimension 1 of size 4 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_cuts = [#cp.cut<"cp" zigzag>]}
      : (tensor<4x4xf32>) -> tensor<16x1xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_other_axis(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op all_to_all_c4: with cuts the group has one axis, that of each cut, but the axes are ["cp"] and a cut is #cp.cut<"dp" zigzag>}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_cuts = [#cp.cut<"dp" zigzag>]}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_to_all_c4_two_axes(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_to_all' op all_to_all_c4: with cuts the group has one axis, that of each cut, but the axes are ["dp", "cp"] and a cut is #cp.cut<"dp">}}
  %0 = cp.all_to_all %x over ["dp", "cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_cuts = [#cp.cut<"dp">]}
      : (tensor<4x8xf32>) -> tensor<32x1xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c3(%x: tensor<4x8xf32>) {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       // expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got -2; leave it out to cut anywhere}}
       split_cuts = [#cp.cut<"cp" striped : -2>]}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @not_a_cut(%x: tensor<4x8xf32>) {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      // expected-error @below {{attribute 'split_cuts' failed to satisfy constraint: a cut for each operand}}
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_cuts = ["cp"]}
      : (tensor<4x8xf32>) -> tensor<16x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @layout_c5_split_to_dynamic(%x: tensor<4x6xf32>) {
  // expected-error @below {{'cp.all_to_all' op layout_c5: dimension 1 of size 6 does not divide by 2 x 2 (axis "cp", zigzag)}}
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       split_cuts = [#cp.cut<"cp" zigzag>]}
      : (tensor<4x6xf32>) -> tensor<8x?xf32>
  return
}
