// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @sum() -> tensor<f64> {
  // expected-error @below {{expected 1 or more operands, but found 0}}
  %0 = "cp.sum"() : () -> tensor<f64>
  return %0 : tensor<f64>
}

// -----

func.func @sgd(%w: tensor<4xf32>, %g: tensor<3xf32>, %s: tensor<f64>) {
  // expected-error @below {{sgd_c1: what goes with a parameter must have type 'tensor<4xf32>', but has 'tensor<3xf32>'}}
  %0 = cp.sgd %w by %g rate(%s) scale(%s)
      : (tensor<4xf32>, tensor<3xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd(%w: tensor<4xbf16>, %g: tensor<4xbf16>, %s: tensor<f64>) {
  // expected-error @below {{sgd_c1: parameters must be in f32 or better, but are in 'bf16'; keep them in 'f32' and let 'rounded' be those that the model takes}}
  %0 = cp.sgd %w by %g rate(%s) scale(%s)
      : (tensor<4xbf16>, tensor<4xbf16>, tensor<f64>, tensor<f64>) -> tensor<4xbf16>
  return
}

// -----

func.func @sgd(%w: tensor<4xf64>, %g: tensor<4xf64>, %s: tensor<f64>) {
  // expected-error @below {{sgd_c2: parameters that are rounded must be in f32, but are in 'f64'}}
  %0, %1 = cp.sgd %w by %g rate(%s) scale(%s)
      : (tensor<4xf64>, tensor<4xf64>, tensor<f64>, tensor<f64>)
      -> (tensor<4xf64>, tensor<4xbf16>)
  return
}

// -----

func.func @sgd(%w: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{sgd_c3: weight_decay must be a number of at least 0, but is -1.000000e+00}}
  %0 = cp.sgd %w by %g rate(%s) scale(%s) {weight_decay = -1.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @accumulate(%s: tensor<4xf32>, %g: tensor<4xf64>, %i: tensor<i64>) {
  // expected-error @below {{accumulate_c1: what goes with a parameter must have type 'tensor<4xf32>', but has 'tensor<4xf64>'}}
  %0 = cp.accumulate %g into %s at(%i)
      : (tensor<4xf64>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @adamw(%w: tensor<4xf32>, %m: tensor<2x2xf32>, %r: tensor<f64>, %s: tensor<i64>) {
  // expected-error @below {{adamw_c1: what goes with a parameter must have type 'tensor<4xf32>', but has 'tensor<2x2xf32>'}}
  %0:3 = cp.adamw %w by %w moments(%m, %m) rate(%r) step(%s) scale(%r)
      : (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<f64>, tensor<i64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw(%w: tensor<4xf32>, %r: tensor<f64>, %s: tensor<i64>) {
  // expected-error @below {{adamw_c2: rounded must have shape [4], but has [5]}}
  %0:4 = cp.adamw %w by %w moments(%w, %w) rate(%r) step(%s) scale(%r)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<i64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xbf16>)
  return
}

// -----

func.func @adamw(%w: tensor<4xf32>, %r: tensor<f64>, %s: tensor<i64>) {
  // expected-error @below {{adamw_c3: beta2 must be a number of at least 0 and below 1.000000e+00, but is 1.000000e+00}}
  %0:3 = cp.adamw %w by %w moments(%w, %w) rate(%r) step(%s) scale(%r) {beta2 = 1.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<i64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
