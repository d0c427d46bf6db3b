// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op group_c1: at least one axis must be named}}
  %0 = cp.all_gather %x over [] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.all_gather %x over ["tp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op group_c1: axis "cp" is named twice}}
  %0 = cp.all_gather %x over ["cp", "cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c1(%x: tensor<8xf32>) {
  // expected-error @below {{all_gather_c1: the dimension must be below 1, but is 1}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c1_negative(%x: tensor<8xf32>) {
  // expected-error @below {{all_gather_c1: the dimension must be below 1, but is -9223372036854775808}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = -9223372036854775808}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c1_rank_zero(%x: tensor<f32>) {
  // expected-error @below {{all_gather_c1: the dimension must be below 0, but is 0}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0}
      : tensor<f32> -> tensor<f32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c2(%x: tensor<8xf32>) {
  // expected-error @below {{all_gather_c2: the result must have shape [32], but has [8]}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c2_type(%x: tensor<8xf32>) {
  // expected-error @below {{all_gather_c2: the result must hold 'f32', but holds 'i32'}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xi32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c2_overflow(%x: tensor<9223372036854775807xi8>) {
  // expected-error @below {{all_gather_c2: a size of 9223372036854775807 times 4 is beyond 64 bits; make it smaller}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0}
      : tensor<9223372036854775807xi8> -> tensor<1xi8>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.slice' op group_c1: at least one axis must be named}}
  %0 = cp.slice %x over [] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.slice' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.slice %x over ["tp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.slice' op group_c1: axis "cp" is named twice}}
  %0 = cp.slice %x over ["cp", "cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c1(%x: tensor<8xf32>) {
  // expected-error @below {{slice_c1: the dimension must be below 1, but is 1}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 1}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c1_negative(%x: tensor<8xf32>) {
  // expected-error @below {{slice_c1: the dimension must be below 1, but is -9223372036854775808}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = -9223372036854775808}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c1_rank_zero(%x: tensor<f32>) {
  // expected-error @below {{slice_c1: the dimension must be below 0, but is 0}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<f32> -> tensor<f32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c2(%x: tensor<8xf32>) {
  // expected-error @below {{slice_c2: the result must have shape [2], but has [8]}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c2_type(%x: tensor<8xf32>) {
  // expected-error @below {{slice_c2: the result must hold 'f32', but holds 'i32'}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xi32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @slice_c2_divides(%x: tensor<6xf32>) {
  // expected-error @below {{slice_c2: the group's size (4) must divide the dimension (6)}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<6xf32> -> tensor<1xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reduce_scatter' op group_c1: at least one axis must be named}}
  %0 = cp.reduce_scatter %x over [] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reduce_scatter' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.reduce_scatter %x over ["tp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reduce_scatter' op group_c1: axis "cp" is named twice}}
  %0 = cp.reduce_scatter %x over ["cp", "cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c1(%x: tensor<8xf32>) {
  // expected-error @below {{reduce_scatter_c1: the dimension must be below 1, but is 1}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 1}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c1_negative(%x: tensor<8xf32>) {
  // expected-error @below {{reduce_scatter_c1: the dimension must be below 1, but is -9223372036854775808}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = -9223372036854775808}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c1_rank_zero(%x: tensor<f32>) {
  // expected-error @below {{reduce_scatter_c1: the dimension must be below 0, but is 0}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<f32> -> tensor<f32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c2(%x: tensor<8xf32>) {
  // expected-error @below {{reduce_scatter_c2: the result must have shape [2], but has [8]}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c2_type(%x: tensor<8xf32>) {
  // expected-error @below {{reduce_scatter_c2: the result must hold 'f32', but holds 'i32'}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xi32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c2_divides(%x: tensor<6xf32>) {
  // expected-error @below {{reduce_scatter_c2: the group's size (4) must divide the dimension (6)}}
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<6xf32> -> tensor<1xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_gather(%x: tensor<3x8xf32>) {
  // expected-error @below {{'cp.all_gather' op layout_c5: dimension 0 of size 12 does not divide by 2 x 4 (axis "cp", zigzag); pad the dimension to a multiple, or cut it over a smaller axis or contiguously}}
  %0 = cp.all_gather %x over ["cp" zigzag] of #mesh {dim = 0}
      : tensor<3x8xf32> -> tensor<12x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_slice(%x: tensor<16x8xf32>) {
  // expected-error @below {{'cp.slice' op layout_c5: dimension 0 of size 16 does not divide by 4 (axis "cp", striped) x 8 (unit)}}
  %0 = cp.slice %x over ["cp" striped : 8] of #mesh {dim = 0}
      : tensor<16x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_reduce_scatter(%x: tensor<16x8xf32>) {
  // expected-error @below {{'cp.reduce_scatter' op layout_c5: dimension 0 of size 16 does not divide by 4 (axis "cp", striped) x 3 (unit)}}
  %0 = cp.reduce_scatter %x over ["cp" striped : 3] of #mesh {dim = 0}
      : tensor<16x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @cut_c1_gather(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.all_gather' op cut_c1: several axes are one group here, of contiguous cuts, but that over "cp" is striped; do one axis after the other}}
  %0 = cp.all_gather %x over ["dp", "cp" striped] of #mesh {dim = 0}
      : tensor<4x8xf32> -> tensor<32x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c7(%x: tensor<4x8xf32>) {
  // expected-error @below {{layout_c7: expected an order, one of 'contiguous' 'zigzag' 'striped' 'zigzag_per_document' 'sizes' 'contiguous_per_document', but got 'zig'}}
  %0 = cp.all_gather %x over ["cp" zig] of #mesh {dim = 0}
      : tensor<4x8xf32> -> tensor<16x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @layout_c5_slice_to_dynamic(%x: tensor<6xf32>) {
  // expected-error @below {{'cp.slice' op layout_c5: dimension 0 of size 6 does not divide by 2 x 2 (axis "cp", zigzag)}}
  %0 = cp.slice %x over ["cp" zigzag] of #mesh {dim = 0}
      : tensor<6xf32> -> tensor<?xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.unslice' op group_c1: at least one axis must be named}}
  %0 = cp.unslice %x over [] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_c1(%x: tensor<8xf32>) {
  // expected-error @below {{unslice_c1: the dimension must be below 1, but is 1}}
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = 1}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_c1_negative(%x: tensor<8xf32>) {
  // expected-error @below {{unslice_c1: the dimension must be below 1, but is -9223372036854775808}}
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = -9223372036854775808}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_c2(%x: tensor<8xf32>) {
  // expected-error @below {{unslice_c2: the result must have shape [32], but has [8]}}
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_c2_type(%x: tensor<8xf32>) {
  // expected-error @below {{unslice_c2: the result must hold 'f32', but holds 'f64'}}
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf64>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @unslice_c3(%x: tensor<8xi32>) {
  // expected-error @below {{unslice_c3: }}
  %0 = cp.unslice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xi32> -> tensor<32xi32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_unslice(%x: tensor<3x8xf32>) {
  // expected-error @below {{'cp.unslice' op layout_c5: dimension 0 of size 12 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.unslice %x over ["cp" zigzag] of #mesh {dim = 0}
      : tensor<3x8xf32> -> tensor<12x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @cut_c1_unslice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'cp.unslice' op cut_c1: several axes are one group here}}
  %0 = cp.unslice %x over ["dp", "cp" striped] of #mesh {dim = 0}
      : tensor<4x8xf32> -> tensor<32x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @grad_scale_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op attribute 'grad_scale' failed to satisfy constraint: string attribute that is "up", "down" or "none"}}
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0, grad_scale = "half"}
      : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @grad_scale_not_a_word(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.slice' op attribute 'grad_scale' failed to satisfy constraint: string attribute that is "up", "down" or "none"}}
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0, grad_scale = 2}
      : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c1_counts(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op all_gather_c1: must have as many results as sources, one or more, but has 2 of 1}}
  %0:2 = "cp.all_gather"(%x) {mesh = #mesh, cuts = [#cp.cut<"cp">], dim = 0 : i64}
      : (tensor<8xf32>) -> (tensor<32xf32>, tensor<32xf32>)
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @all_gather_c2_second(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_gather' op all_gather_c2: the result must have shape [32], but has [16]}}
  %0:2 = cp.all_gather %x, %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32>, tensor<8xf32> -> tensor<32xf32>, tensor<16xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reduce_scatter_c1_counts() {
  // expected-error @below {{'cp.reduce_scatter' op reduce_scatter_c1: must have as many results as sources, one or more, but has 0 of 0}}
  "cp.reduce_scatter"() {mesh = #mesh, cuts = [#cp.cut<"cp">], dim = 0 : i64} : () -> ()
  return
}

// -----

#mesh = #cp.mesh<"cp" = 3>
func.func @cut_c2(%x: tensor<7x8xf32>) {
  // expected-error @below {{'cp.all_gather' op cut_c2: the parts of a local op are of one size, but the cut of dimension 0 lists sizes; write a cp.reshard, which has room for the largest made and what holds nothing taken out}}
  %0 = cp.all_gather %x over ["cp" sizes [4, 0, 7]] of #mesh {dim = 0}
      : tensor<7x8xf32> -> tensor<21x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"ring" = 2, "u" = 2>
func.func @cut_c2_documents(%lists: tensor<1x3xi32>) {
  // expected-error @below {{'cp.cut_positions' op cut_c2: an order per document is that of the only cut of a local op, but there are 2; write a cp.reshard, which cuts over one axis after the other}}
  %0 = cp.cut_positions documents(%lists : tensor<1x3xi32>) over ["ring" zigzag_per_document, "u"] of #mesh : tensor<1x8xi64>
  return
}
