// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @least
// CHECK: cp.conv1d %{{.*}} weight(%{{.*}}) : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
func.func @least(%x: tensor<1x16x24xf32>, %w: tensor<24x4xf32>) {
  // The default is not printed.
  %0 = cp.conv1d %x weight(%w) {silu = false}
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
  return
}

// CHECK-LABEL: @all
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x3xbf16>, %[[W:.*]]: tensor<3x4xbf16>, %[[B:.*]]: tensor<3xbf16>, %[[I:.*]]: tensor<2x3x3xbf16>)
// CHECK: cp.conv1d %[[X]] weight(%[[W]]) bias(%[[B]]) initial(%[[I]]) {silu = true, strategy = "hidden"} : (
func.func @all(%x: tensor<2x8x3xbf16>, %w: tensor<3x4xbf16>, %b: tensor<3xbf16>,
               %i: tensor<2x3x3xbf16>) {
  %0 = cp.conv1d %x weight(%w) bias(%b) initial(%i)
      {strategy = "hidden", silu = true}
      : (tensor<2x8x3xbf16>, tensor<3x4xbf16>, tensor<3xbf16>,
         tensor<2x3x3xbf16>) -> tensor<2x8x3xbf16>
  return
}

// CHECK-LABEL: @only_initial
// CHECK: cp.conv1d %{{.*}} weight(%{{.*}}) initial(%{{.*}}) :
func.func @only_initial(%x: tensor<1x8x3xf64>, %w: tensor<3x1xf64>,
                        %i: tensor<1x0x3xf64>) {
  %0 = cp.conv1d %x weight(%w) initial(%i)
      : (tensor<1x8x3xf64>, tensor<3x1xf64>, tensor<1x0x3xf64>)
      -> tensor<1x8x3xf64>
  return
}

// A dynamic size matches any.
// CHECK-LABEL: @dynamic
// CHECK: cp.conv1d
func.func @dynamic(%x: tensor<?x?x?xf32>, %w: tensor<3x?xf32>,
                   %i: tensor<1x2x?xf32>) {
  %0 = cp.conv1d %x weight(%w) initial(%i)
      : (tensor<?x?x?xf32>, tensor<3x?xf32>, tensor<1x2x?xf32>)
      -> tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: @places
// CHECK: cp.conv1d %{{.*}} weight(%{{.*}}) places(%{{.*}}) :
// CHECK: cp.conv1d %{{.*}} weight(%{{.*}}) initial(%{{.*}}) places(%{{.*}}) :
func.func @places(%x: tensor<2x8x3xbf16>, %w: tensor<3x4xbf16>,
                  %i: tensor<2x3x3xbf16>, %p: tensor<2x8xi64>) {
  %0 = cp.conv1d %x weight(%w) places(%p)
      : (tensor<2x8x3xbf16>, tensor<3x4xbf16>, tensor<2x8xi64>)
      -> tensor<2x8x3xbf16>
  %1 = cp.conv1d %x weight(%w) initial(%i) places(%p)
      : (tensor<2x8x3xbf16>, tensor<3x4xbf16>, tensor<2x3x3xbf16>,
         tensor<2x8xi64>) -> tensor<2x8x3xbf16>
  return
}
