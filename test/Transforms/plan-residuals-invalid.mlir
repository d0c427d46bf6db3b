// RUN: %cp-opt %s --cp-plan-residuals="limit=1000" --split-input-file --verify-diagnostics

// expected-error @below {{plan_residuals_c1: has layouts or several blocks; plan the program of one rank, behind cp-partition}}
func.func @global(%x: tensor<4xf32>) -> tensor<4xf32> attributes {cp.view = "global"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{plan_residuals_c2: the limit is 1000 bytes, but a rank needs at least 2048 at one time however much is computed again; take more ranks or shorter sequences, or let exchanges be made again too}}
func.func @large(%x: tensor<256xf32>) -> (tensor<256xf32> {cp.gradient = "x"}) {
  %c = arith.constant dense<1.0> : tensor<256xf32>
  %0 = cp.rms_norm %x weight(%c) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %1 = cp.rms_norm %0 weight(%x) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %2 = cp.rms_norm %1 weight(%0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %2 : tensor<256xf32>
}
