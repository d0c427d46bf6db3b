// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_reduce' op group_c1: at least one axis must be named}}
  %0 = cp.all_reduce %x over [] of #mesh
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_reduce' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.all_reduce %x over ["tp"] of #mesh
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_reduce' op group_c1: axis "cp" is named twice}}
  %0 = cp.all_reduce %x over ["cp", "cp"] of #mesh
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.shift' op group_c1: at least one axis must be named}}
  %0 = cp.shift %x over [] of #mesh {offset = 1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.shift' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.shift %x over ["tp"] of #mesh {offset = 1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.shift' op group_c1: axis "cp" is named twice}}
  %0 = cp.shift %x over ["cp", "cp"] of #mesh {offset = 1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op group_c1: at least one axis must be named}}
  %0 = cp.reorder %x from [] to [] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.reorder %x from ["tp"] to ["tp" zigzag] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op group_c1: axis "cp" is named twice}}
  %0 = cp.reorder %x from ["cp", "cp"] to ["cp" zigzag, "cp"] of #mesh
      {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_zigzag(%x: tensor<7xf32>) {
  // expected-error @below {{'cp.reorder' op layout_c5: dimension 0 of size 28 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 0}
      : tensor<7xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c1_dim(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c1: the dimension must be below 1, but is 1}}
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c1_rank_zero(%x: tensor<f32>) {
  // expected-error @below {{reorder_c1: the dimension must be below 0, but is 0}}
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 0}
      : tensor<f32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op reorder_c2: both cuts must be over the same axes, but are over ["cp"] and ["dp"]}}
  %0 = cp.reorder %x from ["cp"] to ["dp" striped] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c5_unit(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op layout_c5: dimension 0 of size 32 does not divide by 4 (axis "cp", striped) x 3 (unit)}}
  %0 = cp.reorder %x from ["cp" striped : 3] to ["cp"] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c3(%x: tensor<8xf32>) {
  // expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got -1}}
  %0 = cp.reorder %x from ["cp"] to ["cp" striped : -1] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c3(%x: tensor<7xf32>) {
  // expected-error @below {{reorder_c3: the orders before and after must differ}}
  %0 = cp.reorder %x from ["cp"] to ["cp"] of #mesh {dim = 0}
      : tensor<7xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c3_units(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c3: the orders before and after must differ}}
  %0 = cp.reorder %x from ["cp" : 2] to ["cp" : 4] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @cut_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op cut_c1: several axes are one group here, of contiguous cuts, but that over "dp" is zigzag; do one axis after the other}}
  %0 = cp.reorder %x from ["dp", "cp"] to ["dp" zigzag, "cp"] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @layout_c7(%x: tensor<8xf32>) {
  // expected-error @below {{layout_c7: expected an order, one of 'contiguous' 'zigzag' 'striped' 'zigzag_per_document' 'sizes' 'contiguous_per_document', but got 'backward'}}
  %0 = cp.reorder %x from ["cp"] to ["cp" backward] of #mesh {dim = 0}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c3_striped(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c3: the orders before and after must differ}}
  %0 = cp.reorder %x from ["cp" striped : 2] to ["cp" striped : 2] of #mesh
      {dim = 0} : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @types_differ(%x: tensor<8xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cp.all_reduce"(%x) {mesh = #mesh, axes = ["cp"]}
      : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @axes_not_strings(%x: tensor<8xf32>) {
  // expected-error @below {{attribute 'axes' failed to satisfy constraint: string array attribute}}
  %0 = cp.all_reduce %x over [1] of #mesh : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_typed_name(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.all_reduce' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "cp" : i32}}
  %0 = cp.all_reduce %x over ["cp", "cp" : i32] of #mesh : tensor<8xf32>
  return
}

// -----

func.func @nothing_to_add() {
  // expected-error @below {{'cp.all_reduce' op all_reduce_c1: adds one tensor or more, but has none}}
  "cp.all_reduce"() {mesh = #cp.mesh<"cp" = 4>, axes = ["cp"]} : () -> ()
  return
}
