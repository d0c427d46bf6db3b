// RUN: %cp-opt %s --cp-add-update="count=count" --split-input-file --verify-diagnostics

// expected-error @below {{add_update_c3: has no result with cp.name = 'count', which gradients are to be divided by; return it, or leave the option count out}}
func.func @none(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c3: result 'count' must be a scalar of f64 or less, but is 'tensor<4xf32>'}}
func.func @vector(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}, tensor<4xf32> {cp.name = "count"}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}
