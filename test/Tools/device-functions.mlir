// RUN: cp-run %s --entry=main --device=emulated --ranks=2 --check --quiet
// RUN: cp-compile %s --entry=main --device=cuda -o %t.so
// RUN: not cp-compile %s --entry=exp2 --device=cuda -o %t.so 2>&1 | FileCheck %s

// What a card computes of elements, as models write it: gelu, softplus, rotations.

func.func @main(%x: tensor<2x16xf32> {cp.name = "x", cp.sequence = 1 : i64})
    -> (tensor<2x16xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %erf = math.erf %x : tensor<2x16xf32>
  %tanh = math.tanh %x : tensor<2x16xf32>
  %size = math.absf %x : tensor<2x16xf32>
  %sqrt = math.sqrt %size : tensor<2x16xf32>
  %log1p = math.log1p %size : tensor<2x16xf32>
  %expm1 = math.expm1 %x : tensor<2x16xf32>
  %sin = math.sin %x : tensor<2x16xf32>
  %cos = math.cos %x : tensor<2x16xf32>
  %exp = math.exp %x : tensor<2x16xf32>
  %log = math.log %exp : tensor<2x16xf32>
  %0 = arith.addf %erf, %tanh : tensor<2x16xf32>
  %1 = arith.addf %0, %sqrt : tensor<2x16xf32>
  %2 = arith.addf %1, %log1p : tensor<2x16xf32>
  %3 = arith.mulf %2, %expm1 : tensor<2x16xf32>
  %4 = arith.mulf %sin, %cos : tensor<2x16xf32>
  %5 = arith.addf %3, %4 : tensor<2x16xf32>
  %6 = arith.addf %5, %log : tensor<2x16xf32>
  return %6 : tensor<2x16xf32>
}

// CHECK: error: a loop of the program takes a function that no card has: llvm.exp2.f32; write it by another one, as exp2 and log10 by exp and log, or compile without a device
func.func @exp2(%x: tensor<2x16xf32> {cp.name = "x", cp.sequence = 1 : i64})
    -> (tensor<2x16xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %y = math.exp2 %x : tensor<2x16xf32>
  return %y : tensor<2x16xf32>
}
