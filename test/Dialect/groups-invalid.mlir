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
  %0 = cp.reorder %x over [] of #mesh {dim = 0, to_zigzag = true}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0 = cp.reorder %x over ["tp"] of #mesh {dim = 0, to_zigzag = true}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%x: tensor<8xf32>) {
  // expected-error @below {{'cp.reorder' op group_c1: axis "cp" is named twice}}
  %0 = cp.reorder %x over ["cp", "cp"] of #mesh {dim = 0, to_zigzag = true}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c1(%x: tensor<7xf32>) {
  // expected-error @below {{reorder_c1: 2 (2) must divide the dimension (7)}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, to_zigzag = true}
      : tensor<7xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c1_dim(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c1: the dimension must be below 1, but is 1}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 1, to_zigzag = true}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c1_rank_zero(%x: tensor<f32>) {
  // expected-error @below {{reorder_c1: the dimension must be below 0, but is 0}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, to_zigzag = true}
      : tensor<f32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c2_both(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c2: a cut cannot be zigzag and striped at once; leave one of them out}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, to_zigzag = true, to_striped = 1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c2_unit(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c2: stripes of 3 must divide a rank's part, which has 8 elements}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, from_striped = 3}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c2_negative(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c2: the unit of a striped cut must be at least 1, or 0 for a cut that is not, but is -1}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, to_striped = -1}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c3(%x: tensor<7xf32>) {
  // expected-error @below {{reorder_c3: the orders before and after must differ}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0}
      : tensor<7xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @reorder_c3_striped(%x: tensor<8xf32>) {
  // expected-error @below {{reorder_c3: the orders before and after must differ}}
  %0 = cp.reorder %x over ["cp"] of #mesh {dim = 0, from_striped = 2, to_striped = 2}
      : tensor<8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @types_differ(%x: tensor<8xf32>) {
  // expected-error @below {{failed to verify that all of {source, result} have same type}}
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
