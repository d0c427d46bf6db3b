// How summaries travel over ranks: every name is written and read back, an op's
// own choice is stronger than the option, and each algorithm reaches the runtime
// as its number.

// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 scan=doubling" \
// RUN:   | FileCheck %s --check-prefix=ASSIGN
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 scan=transposed" \
// RUN:   | FileCheck %s --check-prefix=SHARD

#mesh = #cp.mesh<"cp" = 4>

// `chain` is the default, and not printed.

// CHECK-LABEL: func.func @names(
// CHECK:         cp.scan_state %arg0, %arg1 over ["cp"] of #mesh : tensor<1x2xf32>
// CHECK:         cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<gather>}
// CHECK:         cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<doubling>}
// CHECK:         cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<pipelined>}
// CHECK:         cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<transposed>}
func.func @names(%d: tensor<1x2xf32>, %s: tensor<1x2x8x4xf32>)
    -> tensor<1x2x8x4xf32> attributes {cp.view = "local"} {
  %d0, %s0 = cp.scan_state %d, %s over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<chain>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  %d1, %s1 = cp.scan_state %d0, %s0 over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<gather>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  %d2, %s2 = cp.scan_state %d1, %s1 over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<doubling>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  %d3, %s3 = cp.scan_state %d2, %s2 over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<pipelined>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  %d4, %s4 = cp.scan_state %d3, %s3 over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<transposed>}
      : tensor<1x2xf32>, tensor<1x2x8x4xf32>
  return %s4 : tensor<1x2x8x4xf32>
}

// CHECK-LABEL:  func.func @choice(
// ASSIGN-LABEL: func.func @choice(
// ASSIGN:         cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<pipelined>}
// ASSIGN:         cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<doubling>}
// SHARD-LABEL:  func.func @choice(
// SHARD:          cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<pipelined>}
// SHARD:          cp.scan_state {{.*}} {algorithm = #cp.scan_algorithm<transposed>}
func.func @choice(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>,
    %b: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x4x8xf32> {
  %y, %s = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      {algorithm = #cp.scan_algorithm<pipelined>}
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  %z, %t = cp.ssd %y dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %z : tensor<1x16x4x8xf32>
}
