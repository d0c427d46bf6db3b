// RUN: %cp-opt %s --canonicalize | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#sequence = #cp.layout<#mesh, [{}, {"cp"}]>
#whole = #cp.layout<#mesh, [{}, {}]>

// CHECK-LABEL: @identity
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @identity(%x: tensor<2x8xf32, #sequence>)
    -> tensor<2x8xf32, #sequence> {
  %0 = cp.reshard %x : tensor<2x8xf32, #sequence>
                    to tensor<2x8xf32, #sequence>
  return %0 : tensor<2x8xf32, #sequence>
}

// CHECK-LABEL: @local_identity
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @local_identity(%x: tensor<2x2xf32>) -> tensor<2x2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sequence to #sequence
      : tensor<2x2xf32> to tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// The types are equal, the layouts are not: a sum is still to be made.
// CHECK-LABEL: @equal_types
// CHECK: cp.reshard
func.func @equal_types(%x: tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #cp.layout<#mesh, [{}, {}], partial = {"cp"}>
                     to #whole : tensor<8x8xf32> to tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: @other_layout
// CHECK: cp.reshard
func.func @other_layout(%x: tensor<2x8xf32, #sequence>)
    -> tensor<2x8xf32, #whole> {
  %0 = cp.reshard %x : tensor<2x8xf32, #sequence> to tensor<2x8xf32, #whole>
  return %0 : tensor<2x8xf32, #whole>
}

// CHECK-LABEL: @unused
// CHECK-NOT: cp.reshard
func.func @unused(%x: tensor<2x8xf32, #sequence>) {
  %0 = cp.reshard %x : tensor<2x8xf32, #sequence> to tensor<2x8xf32, #whole>
  return
}
