// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 attention=ulysses gradients=cotangents" | FileCheck %s --check-prefix=ONE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2 attention=ulysses gradients=cotangents split" | FileCheck %s

// In one function the cotangent of out travels with q, k and v: its exchange has their
// route. Apart, the forward function sends what it has, and takes no cotangent; what it
// does not read is the backward function's.

// ONE: cp.all_to_all %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} over ["cp"]

// CHECK-LABEL: func.func @main_forward(
// CHECK-NOT:     cotangent
// CHECK:         cp.all_to_all %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} over ["cp"]
// CHECK-LABEL: func.func @main_backward(
// CHECK-SAME:    cp.name = "out.cotangent"
// CHECK:         cp.all_to_all %{{[^,]*}} over ["cp"]
// CHECK:         cp.attention_grad
// CHECK-NEXT:    cp.all_to_all %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} over ["cp"]
func.func @main(%q: tensor<1x8x2x4xf32> {cp.param = "q", cp.sequence = 1 : i64},
                %k: tensor<1x8x2x4xf32> {cp.param = "k", cp.sequence = 1 : i64},
                %v: tensor<1x8x2x4xf32> {cp.param = "v", cp.sequence = 1 : i64})
    -> (tensor<1x8x2x4xf32> {cp.name = "out", cp.sequence = 1 : i64}) {
  %out, %lse = cp.attention %q, %k, %v
      : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  return %out : tensor<1x8x2x4xf32>
}
