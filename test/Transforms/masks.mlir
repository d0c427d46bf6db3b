// RUN: %cp-opt %s --cp-decompose --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not %cp-opt %s --cp-decompose --split-input-file >/dev/null 2>&1

// Each mask becomes what attributes say; what they say already stays.
// CHECK-LABEL: @causal
// CHECK: cp.attention %arg0, %arg0, %arg0 :
// CHECK: cp.attention %arg0, %arg0, %arg0 {window = 2 : i64} :
// CHECK: cp.attention %arg0, %arg0, %arg0 {window = 1 : i64} :
// CHECK: cp.attention %arg0, %arg0, %arg0 {causal = false} :
// CHECK: cp.attention %arg0, %arg0, %arg0 {window = 3 : i64} :
func.func @causal(%q: tensor<1x3x2x4xf32>)
    -> (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
        tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>) {
  %causal = arith.constant dense<[[true, false, false], [true, true, false],
                                  [true, true, true]]> : tensor<3x3xi1>
  %band = arith.constant dense<[[true, false, false], [true, true, false],
                                [false, true, true]]> : tensor<3x3xi1>
  %all = arith.constant dense<true> : tensor<3x3xi1>
  %0, %lse0 = cp.attention %q, %q, %q mask(%causal) {causal = false}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  %1, %lse1 = cp.attention %q, %q, %q mask(%band) {causal = false}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  %2, %lse2 = cp.attention %q, %q, %q mask(%band) {window = 1}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  %3, %lse3 = cp.attention %q, %q, %q mask(%all) {causal = false}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  %4, %lse4 = cp.attention %q, %q, %q mask(%causal) {window = 3}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %0, %1, %2, %3, %4
      : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
        tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
}

// -----

// A block of the prompt that sees all of itself.
func.func @prefix(%q: tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32> {
  %prefix = arith.constant dense<[[true, true, false], [true, true, false],
                                  [true, true, true]]> : tensor<3x3xi1>
  // expected-error @below {{'cp.attention' op mask_c1: the mask must be a constant that is causal, with a window or without, or hides nothing, since no other can be cut with the sequence; query 0 and key 1 depart from it; use causal and window instead}}
  %0, %lse = cp.attention %q, %q, %q mask(%prefix) {causal = false}
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %0 : tensor<1x3x2x4xf32>
}

// -----

// Nothing is seen at all.
func.func @hidden(%q: tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32> {
  %none = arith.constant dense<false> : tensor<3x3xi1>
  // expected-error @below {{query 0 and key 0 depart from it}}
  %0, %lse = cp.attention %q, %q, %q mask(%none)
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %0 : tensor<1x3x2x4xf32>
}

// -----

func.func @unknown(%q: tensor<1x3x2x4xf32>, %mask: tensor<3x3xi1>)
    -> tensor<1x3x2x4xf32> {
  // expected-error @below {{mask_c1: the mask must be a constant that is causal, with a window or without, or hides nothing, since no other can be cut with the sequence; it is no constant of known elements; use causal and window instead}}
  %0, %lse = cp.attention %q, %q, %q mask(%mask)
      : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<3x3xi1>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %0 : tensor<1x3x2x4xf32>
}

// -----

func.func @cross(%q: tensor<1x2x2x4xf32>, %k: tensor<1x3x2x4xf32>)
    -> tensor<1x2x2x4xf32> {
  %some = arith.constant dense<[[true, false, false], [true, true, false]]>
      : tensor<2x3xi1>
  // expected-error @below {{it is of 2 queries and 3 keys}}
  %0, %lse = cp.attention %q, %k, %k mask(%some) {causal = false}
      : (tensor<1x2x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>,
         tensor<2x3xi1>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
  return %0 : tensor<1x2x2x4xf32>
}

// -----

// So many elements that their number wraps around, to 0 here.
func.func @hidden_many(%q: tensor<1x4294967296x2x4xf32>)
    -> tensor<1x4294967296x2x4xf32> {
  %none = arith.constant dense<false> : tensor<4294967296x4294967296xi1>
  // expected-error @below {{query 0 and key 0 depart from it}}
  %0, %lse = cp.attention %q, %q, %q mask(%none)
      : (tensor<1x4294967296x2x4xf32>, tensor<1x4294967296x2x4xf32>,
         tensor<1x4294967296x2x4xf32>, tensor<4294967296x4294967296xi1>)
      -> (tensor<1x4294967296x2x4xf32>, tensor<1x2x4294967296xf32>)
  return %0 : tensor<1x4294967296x2x4xf32>
}

// -----

// To 1 here.
func.func @hidden_most(%q: tensor<1x9223372036854775807x2x4xf32>)
    -> tensor<1x9223372036854775807x2x4xf32> {
  %none = arith.constant dense<false>
      : tensor<9223372036854775807x9223372036854775807xi1>
  // expected-error @below {{query 0 and key 0 depart from it}}
  %0, %lse = cp.attention %q, %q, %q mask(%none)
      : (tensor<1x9223372036854775807x2x4xf32>,
         tensor<1x9223372036854775807x2x4xf32>,
         tensor<1x9223372036854775807x2x4xf32>,
         tensor<9223372036854775807x9223372036854775807xi1>)
      -> (tensor<1x9223372036854775807x2x4xf32>,
          tensor<1x2x9223372036854775807xf32>)
  return %0 : tensor<1x9223372036854775807x2x4xf32>
}
