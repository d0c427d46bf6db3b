// RUN: not cp-run %s --entry=main --ranks=1 2>&1 | FileCheck %s
// RUN: not cp-run %s --entry=main --ranks=2 2>&1 | FileCheck %s

// A call that cannot become part of the program is told where it stands.

// CHECK: run-calls-invalid.mlir:[[#@LINE+4]]:8: error: 'func.call' op cannot be inlined: what it calls calls itself, is no_inline or not here; write out what it computes
// CHECK: error: the module's calls could not be inlined
func.func @main(%x: tensor<1x16x8xf32> {cp.name = "x", cp.sequence = 1 : i64})
    -> (tensor<1x16x8xf32> {cp.name = "y", cp.sequence = 1 : i64}) {
  %0 = call @again(%x) : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

func.func private @again(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> attributes {no_inline} {
  %0 = math.exp %x : tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}
