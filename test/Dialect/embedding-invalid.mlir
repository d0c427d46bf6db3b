// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @embedding_c1(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>) {
  // expected-error @below {{'cp.embedding' op embedding_c1: the result must have shape [1, 16, 8], but has [1, 8, 16]}}
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @embedding_c2(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>) {
  // expected-error @below {{embedding_c2: padding_idx must be a row of the table, in [0, 96), but is 96}}
  %0 = cp.embedding %ids in %table {padding_idx = 96}
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

func.func @embedding_c1_type(%ids: tensor<1x16xi32>, %table: tensor<96x8xf32>) {
  // expected-error @below {{embedding_c1: the result must hold 'f32', but holds 'bf16'}}
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xbf16>
  return
}

// -----

func.func @ids_of_one_byte(%ids: tensor<1x16xi8>, %table: tensor<96x8xf32>) {
  // expected-error @below {{operand #0 must be 2D tensor of 32-bit signless integer or 64-bit signless integer values}}
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi8>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
  return
}
