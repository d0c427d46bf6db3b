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
