// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1(%d: tensor<2xf32>, %s: tensor<2x4xf32>) {
  // expected-error @below {{'cp.scan_state' op group_c1: at least one axis must be named}}
  %0:2 = cp.scan_state %d, %s over [] of #mesh
      : tensor<2xf32>, tensor<2x4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_unknown(%d: tensor<2xf32>, %s: tensor<2x4xf32>) {
  // expected-error @below {{'cp.scan_state' op group_c1: #cp.mesh<"dp" = 2, "cp" = 4> has no axis "tp"}}
  %0:2 = cp.scan_state %d, %s over ["tp"] of #mesh
      : tensor<2xf32>, tensor<2x4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @group_c1_twice(%d: tensor<2xf32>, %s: tensor<2x4xf32>) {
  // expected-error @below {{'cp.scan_state' op group_c1: axis "cp" is named twice}}
  %0:2 = cp.scan_state %d, %s over ["cp", "cp"] of #mesh
      : tensor<2xf32>, tensor<2x4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c1(%d: tensor<1x2xf32>, %s: tensor<1x2x8xf64>) {
  // expected-error @below {{scan_state_c1: element types must agree, but 'f32' and 'f64' were found}}
  %0:2 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<1x2xf32>, tensor<1x2x8xf64>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c1_results(%d: tensor<2xf32>, %s: tensor<2x4xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c1: a result must have type 'tensor<2x4xf32>', but has 'tensor<2x5xf32>'}}
  %0:2 = "cp.scan_state"(%d, %s) {mesh = #mesh, cuts = [#cp.cut<"cp">]}
      : (tensor<2xf32>, tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2x5xf32>)
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2(%d: tensor<2x1xf32>, %s: tensor<1x2x8xf32>) {
  // expected-error @below {{scan_state_c2: decay's sizes must be the first of state's, but the types are 'tensor<2x1xf32>' and 'tensor<1x2x8xf32>'}}
  %0:2 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<2x1xf32>, tensor<1x2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_rank(%d: tensor<1x2xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{scan_state_c2: decay's sizes must be the first of state's, but the types are 'tensor<1x2xf32>' and 'tensor<1xf32>'}}
  %0:2 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<1x2xf32>, tensor<1xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c3_odd(%d: tensor<3xf32>, %s: tensor<3x8xf32>) {
  // expected-error @below {{scan_state_c3: in this order dimension 0 holds the summaries of 2 parts in turn and must be a multiple of it, but decay is 'tensor<3xf32>'}}
  %0:2 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<3xf32>, tensor<3x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c3_rank_zero(%d: tensor<f32>, %s: tensor<2x8xf32>) {
  // expected-error @below {{scan_state_c3: in this order dimension 0 holds the summaries of 2 parts in turn and must be a multiple of it, but decay is 'tensor<f32>'}}
  %0:2 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<f32>, tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @parts_c1(%d: tensor<4xf32>, %s: tensor<4x8xf32>) {
  // expected-error @below {{'cp.scan_state' op parts_c1: the cuts must be contiguous, or one zigzag cut, but are zigzag contiguous; reorder the sequence first}}
  %0:2 = cp.scan_state %d, %s over ["dp" zigzag, "cp"] of #mesh
      : tensor<4xf32>, tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c4(%d: tensor<4xf32>, %s: tensor<4x8xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c4: a total is a decay and a state, but has 1 tensors; give 2, or none}}
  %0:3 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<4xf32>, tensor<4x8xf32> total tensor<4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c4_zigzag(%d: tensor<4xf32>, %s: tensor<4x8xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c4: the total must have type 'tensor<2x8xf32>', but has 'tensor<4x8xf32>'}}
  %0:4 = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<4xf32>, tensor<4x8xf32> total tensor<2xf32>, tensor<4x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c1_count(%d: tensor<2xf32>, %s: tensor<2x4xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c1: there must be a result for each of the 2 tensors of a summary, but there are 1}}
  %0 = "cp.scan_state"(%d, %s) {mesh = #mesh, cuts = [#cp.cut<"cp">]}
      : (tensor<2xf32>, tensor<2x4xf32>) -> tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_count(%d: tensor<2xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c2: a summary is a decay and a state, but has 1 tensors; give two, or say how such summaries combine}}
  %0 = cp.scan_state %d over ["cp"] of #mesh : tensor<2xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_none() {
  // expected-error @below {{'cp.scan_state' op scan_state_c2: a summary is one tensor or more, but there is none}}
  "cp.scan_state"() {mesh = #mesh, cuts = [#cp.cut<"cp">],
      combine = #cp.combine<"f", batch_dims = 0>} : () -> ()
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_units(%a: tensor<2x3x4xf32>, %s: tensor<2x5x4xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c2: all tensors must begin with the same 2 sizes, which batch_dims says, but the types are 'tensor<2x3x4xf32>' and 'tensor<2x5x4xf32>'}}
  %0:2 = cp.scan_state %a, %s over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 2>}
      : tensor<2x3x4xf32>, tensor<2x5x4xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_too_many_dims(%a: tensor<2x3xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c2: all tensors must begin with the same 3 sizes, which batch_dims says, but the types are 'tensor<2x3xf32>' and 'tensor<2x3xf32>'}}
  %0 = cp.scan_state %a over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 3>} : tensor<2x3xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c3_combine(%a: tensor<2x3xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c3: in this order dimension 0 holds the summaries of 2 parts in turn and must be a multiple of it, but the first tensor is 'tensor<2x3xf32>' and dimension 0 is none of batch_dims}}
  %0 = cp.scan_state %a over ["cp" zigzag] of #mesh
      {combine = #cp.combine<"f", batch_dims = 0>} : tensor<2x3xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c4_combine(%a: tensor<2x3xf32>) {
  // expected-error @below {{'cp.scan_state' op scan_state_c4: a total is of as many tensors as a summary, but has 2 tensors; give 1, or none}}
  %0:3 = cp.scan_state %a over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 1>}
      : tensor<2x3xf32> total tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>
func.func @scan_state_c2_dynamic(%d: tensor<?xf32>, %s: tensor<2x8xf32>) {
  // expected-error @below {{scan_state_c2: decay's sizes must be the first of state's, but the types are 'tensor<?xf32>' and 'tensor<2x8xf32>'}}
  %0:2 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<?xf32>, tensor<2x8xf32>
  return
}
