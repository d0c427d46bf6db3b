// RUN: %cp-opt %s --cp-accumulate --split-input-file --verify-diagnostics

// expected-error @below {{accumulate_c1: has layouts already (cp.view = "local"); let it accumulate before it is sharded}}
func.func @sharded(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}) attributes {cp.view = "local"} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{accumulate_c2: has no result with cp.gradient; run cp-differentiate first}}
func.func @none(%n: tensor<f32>) -> (tensor<f32> {cp.name = "count"}) {
  return %n : tensor<f32>
}

// -----

// expected-error @below {{accumulate_c2: has no result with cp.name = 'count', by which sums are divided; return the number of terms of the loss, and their sum as 'loss' (cp-next-token-loss{sums})}}
func.func @uncounted(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{accumulate_c2: result 1 must be a scalar of f64 or less to be summed, but is 'tensor<i64>'}}
func.func @integer(%w: tensor<4xf32> {cp.name = "w"}, %n: tensor<i64>)
    -> (tensor<4xf32> {cp.gradient = "w"}, tensor<i64> {cp.name = "count"}) {
  return %w, %n : tensor<4xf32>, tensor<i64>
}

// -----

// expected-error @below {{accumulate_c3: an argument has the name 'micro_batch', which the sums are to take; give it another cp.name}}
func.func @taken(%w: tensor<4xf32> {cp.name = "w"}, %n: tensor<f32> {cp.name = "micro_batch"})
    -> (tensor<4xf32> {cp.gradient = "w"}, tensor<f32> {cp.name = "count"}) {
  return %w, %n : tensor<4xf32>, tensor<f32>
}
