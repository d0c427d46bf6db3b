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

// -----

#mesh = #cp.mesh<"cp" = 2>
// expected-error @below {{split_backward_c3: its forward pass reads the cotangent of "y", with which it shares an exchange; split it before cp-merge-exchanges}}
func.func @merged(%x: tensor<4xf64> {cp.name = "x"},
                  %dy: tensor<4xf64> {cp.name = "y.cotangent", cp.cotangent = "y"})
    -> (tensor<8xf64> {cp.name = "y"}, tensor<8xf64> {cp.gradient = "x"})
    attributes {cp.view = "local"} {
  %0:2 = cp.all_gather %x, %dy over ["cp"] of #mesh {dim = 0}
      : tensor<4xf64>, tensor<4xf64> -> tensor<8xf64>, tensor<8xf64>
  return %0#0, %0#1 : tensor<8xf64>, tensor<8xf64>
}
