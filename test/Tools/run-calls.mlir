// RUN: cp-run %s --entry=main --ranks=1 --check --quiet
// RUN: cp-run %s --entry=main --ranks=2 --check --quiet
// RUN: cp-run %s --entry=main --ranks=2 --device=emulated --check --quiet
// RUN: cp-run %s --ranks=2 --entry=twice --check --quiet
// RUN: cp-compile %s --entry=main --ranks=2 --device=cuda -o %t.so
// RUN: %cp-opt %s --inline --symbol-dce | FileCheck %s

// What is called becomes part of the program, and what nobody calls is in none.

// CHECK-LABEL: func.func @main(
// CHECK:         cp.rms_norm
// CHECK-NEXT:    cp.rms_norm
// CHECK-NEXT:    math.exp
// CHECK-NOT:   @layer
// CHECK-NOT:   @unused
func.func @main(%x: tensor<1x16x8xf32> {cp.name = "x", cp.sequence = 1 : i64},
                %w: tensor<8xf32> {cp.param = "w"})
    -> (tensor<1x16x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = call @twice(%x, %w) : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  %1 = math.exp %0 : tensor<1x16x8xf32>
  return %1 : tensor<1x16x8xf32>
}

func.func @twice(%x: tensor<1x16x8xf32> {cp.name = "x", cp.sequence = 1 : i64},
                 %w: tensor<8xf32> {cp.param = "w"})
    -> (tensor<1x16x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = call @layer(%x, %w) : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  %1 = call @layer(%0, %w) : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return %1 : tensor<1x16x8xf32>
}

func.func private @layer(%x: tensor<1x16x8xf32>, %w: tensor<8xf32>) -> tensor<1x16x8xf32> {
  %0 = cp.rms_norm %x weight(%w) : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
