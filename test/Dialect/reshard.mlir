// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
// CHECK-DAG: #[[$SEQUENCE:layout.*]] = #cp.layout<#{{.*}}, [{}, {"cp"}]>
// CHECK-DAG: #[[$SUM:layout.*]] = #cp.layout<#{{.*}}, [{}, {}], partial = {"cp"}>
#sequence = #cp.layout<#mesh, [{}, {"cp"}]>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"cp"}>

// CHECK-LABEL: @global
// CHECK: cp.reshard %{{.*}} : tensor<2x8xf32, #[[$SUM]]> to tensor<2x8xf32, #[[$SEQUENCE]]>
func.func @global(%x: tensor<2x8xf32, #sum>) -> tensor<2x8xf32, #sequence> {
  %0 = cp.reshard %x : tensor<2x8xf32, #sum> to tensor<2x8xf32, #sequence>
  return %0 : tensor<2x8xf32, #sequence>
}

// How a user pins a layout.
// CHECK-LABEL: @pin
// CHECK: cp.reshard %{{.*}} : tensor<2x8xi64> to tensor<2x8xi64, #[[$SEQUENCE]]>
func.func @pin(%x: tensor<2x8xi64>) -> tensor<2x8xi64, #sequence> {
  %0 = cp.reshard %x : tensor<2x8xi64> to tensor<2x8xi64, #sequence>
  return %0 : tensor<2x8xi64, #sequence>
}

// CHECK-LABEL: @local
// CHECK: cp.reshard %{{.*}} from #[[$SUM]] to #[[$SEQUENCE]] : tensor<2x8xf32> to tensor<2x2xf32>
func.func @local(%x: tensor<2x8xf32>) -> tensor<2x2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum to #sequence : tensor<2x8xf32> to tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// CHECK-LABEL: @rank_zero
// CHECK: cp.reshard %{{.*}} : tensor<f32> to tensor<f32, #{{.*}}>
func.func @rank_zero(%x: tensor<f32>) {
  %0 = cp.reshard %x : tensor<f32> to tensor<f32, #cp.layout<#mesh, []>>
  return
}
