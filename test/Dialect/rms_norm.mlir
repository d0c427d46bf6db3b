// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @least
// CHECK: cp.rms_norm %{{.*}} : (tensor<8xf32>) -> tensor<8xf32>
func.func @least(%x: tensor<8xf32>) {
  // Defaults are not printed.
  %0 = cp.rms_norm %x {eps = 1.0e-5 : f64, groups = 1 : i64, gate_first = true}
      : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: @all
// CHECK-SAME: (%[[X:.*]]: tensor<1x16x24xf64>, %[[W:.*]]: tensor<24xf64>, %[[Z:.*]]: tensor<1x16x24xf64>)
// CHECK: cp.rms_norm %[[X]] weight(%[[W]]) gate(%[[Z]]) {eps = 1.250000e-01 : f64, gate_first = false, groups = 3 : i64} : (
func.func @all(%x: tensor<1x16x24xf64>, %w: tensor<24xf64>,
               %z: tensor<1x16x24xf64>) {
  %0 = cp.rms_norm %x weight(%w) gate(%z)
      {groups = 3, eps = 0.125, gate_first = false}
      : (tensor<1x16x24xf64>, tensor<24xf64>, tensor<1x16x24xf64>)
      -> tensor<1x16x24xf64>
  return
}

// CHECK-LABEL: @only_gate
// CHECK: cp.rms_norm %{{.*}} gate(%{{.*}}) :
func.func @only_gate(%x: tensor<?x6xf32>) {
  %0 = cp.rms_norm %x gate(%x) : (tensor<?x6xf32>, tensor<?x6xf32>)
      -> tensor<?x6xf32>
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.rms_norm %{{.*}} weight(%{{.*}}) {groups = 3 : i64}
func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<7xf32>) {
  %0 = cp.rms_norm %x weight(%w) {groups = 3}
      : (tensor<?x?xf32>, tensor<7xf32>) -> tensor<?x?xf32>
  return
}
