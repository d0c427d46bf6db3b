// RUN: %cp-opt %s --cp-add-update --split-input-file --verify-diagnostics

// expected-error @below {{add_update_c1: has no result with cp.gradient; run cp-differentiate first}}
func.func @none(%w: tensor<4xf32> {cp.name = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c1: result 0 is the gradient of 'v', but no argument has that name}}
func.func @unknown(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "v"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c1: result 0 is the gradient of 'w', a 'tensor<4xbf16>', but is 'tensor<4xbf16>'; give it these sizes, in f32 or better}}
func.func @rounded(%w: tensor<4xbf16> {cp.name = "w"})
    -> (tensor<4xbf16> {cp.gradient = "w"}) {
  return %w : tensor<4xbf16>
}

// -----

// expected-error @below {{add_update_c1: has layouts already (cp.view = "local"); add the update before the function is sharded}}
func.func @sharded(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}) attributes {cp.view = "local"} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c2: argument 1 has the name 'rate', which the update is to take; give it another cp.name}}
func.func @rate(%w: tensor<4xf32> {cp.name = "w"}, %r: tensor<f64> {cp.name = "rate"})
    -> (tensor<4xf32> {cp.gradient = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c2: argument 1 has the name 'exp_avg.w', which the update is to take; give it another cp.name}}
func.func @state(%w: tensor<4xf32> {cp.name = "w"}, %m: tensor<4xf32> {cp.name = "exp_avg.w"})
    -> (tensor<4xf32> {cp.gradient = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c2: result 1 has the name 'grad_norm', which the update is to give; give it another cp.name}}
func.func @norm(%w: tensor<4xf32> {cp.name = "w"}, %n: tensor<f64>)
    -> (tensor<4xf32> {cp.gradient = "w"}, tensor<f64> {cp.name = "grad_norm"}) {
  return %w, %n : tensor<4xf32>, tensor<f64>
}

// -----

// expected-error @below {{add_update_c2: result 1 updates "w" already; add the update to the function with gradients}}
func.func @twice(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"}, tensor<4xf32> {cp.updates = "w"}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c4: is of a model that trains otherwise (["attention_dropout = 0.1"]) than its program does; set these fields of the configuration to 0}}
func.func @dropout(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.gradient = "w"})
    attributes {cp.training_only = ["attention_dropout = 0.1"]} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{add_update_c5: parameter 'w' must be in f64, f32 or bf16, but is in 'f16'; keep it in f32, and round where it is used}}
func.func @half(%w: tensor<4xf16> {cp.name = "w"}, %g: tensor<4xf32>)
    -> (tensor<4xf32> {cp.gradient = "w"}) {
  return %g : tensor<4xf32>
}
