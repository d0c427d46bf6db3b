// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" --verify-diagnostics
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4" >/dev/null 2>&1

// The result does not say how long it is, though q does.
func.func @layout_c5(%q: tensor<1x64x4x2xf32> {cp.sequence = 1 : i64})
    -> tensor<1x64x4x2xf32> {
  // expected-error @below {{'cp.attention' op layout_c5: dimension 2 is cut, so its size must be known, but is '?'}}
  %o, %lse = cp.attention %q, %q, %q
      : (tensor<1x64x4x2xf32>, tensor<1x64x4x2xf32>, tensor<1x64x4x2xf32>)
      -> (tensor<1x64x4x2xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x64x4x2xf32>
}
