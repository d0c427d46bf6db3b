// RUN: cp-opt %s --split-input-file --verify-diagnostics

func.func @shift_tokens_c1(%x: tensor<16xi32>, %rows: tensor<1xi32>) {
  // expected-error @below {{shift_tokens_c1: the source must be [b, l] or have more dimensions behind these, but is 'tensor<16xi32>'}}
  %0 = cp.shift_tokens %x then %rows : tensor<16xi32>, tensor<1xi32>
  return
}

// -----

func.func @shift_tokens_c2(%x: tensor<2x16xi32>, %rows: tensor<1x1xi32>) {
  // expected-error @below {{shift_tokens_c2: the rows must have shape [2, ?], but has [1, 1]}}
  %0 = cp.shift_tokens %x then %rows : tensor<2x16xi32>, tensor<1x1xi32>
  return
}

// -----

func.func @none(%x: tensor<2x16xi32>, %rows: tensor<2x0xi32>) {
  // expected-error @below {{shift_tokens_c2: the number of rows must be at least 1, but is 0}}
  %0 = cp.shift_tokens %x then %rows : tensor<2x16xi32>, tensor<2x0xi32>
  return
}

// -----

func.func @unknown(%x: tensor<2x16xi32>, %rows: tensor<2x?xi32>) {
  // expected-error @below {{shift_tokens_c2: the number of rows is how far tokens are shifted and must be known, but is '?' in 'tensor<2x?xi32>'}}
  %0 = cp.shift_tokens %x then %rows : tensor<2x16xi32>, tensor<2x?xi32>
  return
}

// -----

func.func @elements(%x: tensor<2x16xi32>, %rows: tensor<2x1xi64>) {
  // expected-error @below {{shift_tokens_c2: the rows must have elements as the source has them, 'i32', but are 'tensor<2x1xi64>'}}
  %0 = cp.shift_tokens %x then %rows : tensor<2x16xi32>, tensor<2x1xi64>
  return
}

// -----

func.func @bits(%x: tensor<2x16xi1>, %rows: tensor<2x1xi1>) {
  // expected-error @below {{shift_tokens_c1: elements that travel between ranks are f32, f64, bf16, i32 or i64, but the source is 'tensor<2x16xi1>'; convert it}}
  %0 = cp.shift_tokens %x then %rows : tensor<2x16xi1>, tensor<2x1xi1>
  return
}
