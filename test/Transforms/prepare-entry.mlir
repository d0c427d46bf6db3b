// RUN: %cp-opt %s --cp-prepare-entry | FileCheck %s

// Results become memrefs that are written; no other argument may be.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32> {bufferization.writable = false, cp.name = "x"}
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<4xf32>, %[[B:[a-z0-9]+]]: memref<2x2xf32>) {
// CHECK:         %[[Y:.*]] = math.exp %[[X]]
// CHECK:         %[[Z:.*]] = tensor.expand_shape %[[Y]]
// CHECK-DAG:     bufferization.materialize_in_destination %[[Y]] in restrict writable %[[A]]
// CHECK-DAG:     bufferization.materialize_in_destination %[[Z]] in restrict writable %[[B]]
// CHECK:         return{{$}}
func.func @main(%x: tensor<4xf32> {cp.name = "x"})
    -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = math.exp %x : tensor<4xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 2]
      : tensor<4xf32> into tensor<2x2xf32>
  return %0, %1 : tensor<4xf32>, tensor<2x2xf32>
}

// Private functions are no entry points.

// CHECK-LABEL: func.func private @helper(
// CHECK-SAME:    tensor<4xf32>) -> tensor<4xf32> {
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// What several ops write to, where it has no values or one, each has for itself.

// CHECK-LABEL: func.func @shared(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         %[[A:.*]] = linalg.fill ins({{.*}}) outs(%[[E]] :
// CHECK:         %[[F:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         %[[B:.*]] = linalg.fill ins({{.*}}) outs(%[[F]] :
// CHECK:         linalg.add {{.*}} outs(%[[B]] :
// CHECK:         linalg.mul {{.*}} outs(%[[A]] :
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
      outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.mul ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
      outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// A constant that is an argument's new value is written behind what reads the old
// one.

// CHECK-LABEL: func.func @reset(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<4xf32>
// CHECK:         linalg.exp ins(
// CHECK:         %[[C:.*]] = arith.constant dense<2.000000e+00>
// CHECK:         materialize_in_destination %[[C]] in restrict writable %[[A]]
func.func @reset(%a: tensor<4xf32> {cp.name = "a"})
    -> (tensor<4xf32>, tensor<4xf32> {cp.updates = "a"}) {
  %new = arith.constant dense<2.0> : tensor<4xf32>
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return %1, %new : tensor<4xf32>, tensor<4xf32>
}

// So is one that was computed before, for somebody else.

// CHECK-LABEL: func.func @again(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<4xf32>
// CHECK:         %[[E:.*]] = linalg.exp
// CHECK:         linalg.log
// CHECK:         %[[N:.*]] = linalg.exp
// CHECK:         materialize_in_destination %[[N]] in restrict writable %[[A]]
func.func @again(%a: tensor<4xf32> {cp.name = "a"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {cp.updates = "a"}) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.empty() : tensor<4xf32>
  %3 = linalg.log ins(%a : tensor<4xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
  return %1, %3, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
