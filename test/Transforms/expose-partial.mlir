// RUN: %cp-opt %s --cp-expose-values | FileCheck %s

// A partial sum is no whole tensor; its sum is.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}], partial = {"tp"}>
#whole = #cp.layout<#mesh, [{}]>

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     number = 0
// CHECK-SAME:    tensor<8xf32, #{{.*}}> {cp.value = {layer = "-", {{.*}} number = 1 : i64, op = "math.exp"
// CHECK-NOT:     number = 2
// CHECK:         return %{{.*}}, %{{.*}} :
func.func @main(%x: tensor<8xf32, #sum>) -> tensor<8xf32, #whole>
    attributes {cp.view = "global"} {
  %0 = arith.negf %x {cp.number = 0 : i64} : tensor<8xf32, #sum>
  %1 = cp.reshard %0 : tensor<8xf32, #sum> to tensor<8xf32, #whole>
  %2 = math.exp %1 {cp.number = 1 : i64} : tensor<8xf32, #whole>
  return %2 : tensor<8xf32, #whole>
}
