// RUN: %cp-opt %s --cp-split-backward --split-input-file --verify-diagnostics

// What would be lost, or is of both passes.

func.func @writes(%x: tensor<4xf64> {cp.name = "x"}, %ok: i1)
    -> (tensor<4xf64>, tensor<4xf64> {cp.gradient = "x"}) {
  // expected-error @below {{'cf.assert' op split_backward_c1: may write to memory, so it belongs to neither function alone; split the program while it is on tensors}}
  cf.assert %ok, "not so"
  %0 = math.exp %x : tensor<4xf64>
  return %0, %0 : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error @below {{split_backward_c1: returns what its ops compute, of both passes; split it without expose}}
func.func @exposed(%x: tensor<4xf64>)
    -> (tensor<4xf64> {cp.value = {number = 0 : i64}}, tensor<4xf64> {cp.gradient = "x"}) {
  %0 = math.exp %x : tensor<4xf64>
  return %0, %0 : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error @below {{split_backward_c1: there is a 'taken_forward' already; rename it}}
func.func @taken(%x: tensor<4xf64>)
    -> (tensor<4xf64>, tensor<4xf64> {cp.gradient = "x"}) {
  %0 = math.exp %x : tensor<4xf64>
  return %0, %0 : tensor<4xf64>, tensor<4xf64>
}
func.func @taken_forward() {
  return
}

// -----

// expected-error @below {{split_backward_c1: has layouts in its types; run this when it is partitioned}}
func.func @layouts(%x: tensor<4xf64, #cp.layout<#cp.mesh<"cp" = 2>, [{"cp"}]>>)
    -> (tensor<4xf64> {cp.gradient = "x"}) {
  %0 = arith.constant dense<1.0> : tensor<4xf64>
  return %0 : tensor<4xf64>
}
