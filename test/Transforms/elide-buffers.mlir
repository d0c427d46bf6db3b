// RUN: %cp-opt %s --split-input-file --cp-elide-buffers | FileCheck %s

// What is a result of the function is written to the caller's buffer.

// CHECK-LABEL: func.func @result(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32> {{.*}}, %[[OUT:.*]]: memref<4xf32>)
// CHECK-NOT:     tensor.empty
// CHECK:         %[[PLACE:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[Y:.*]] = cp.call "exp" ins(%[[X]] {{.*}}) outs(%[[PLACE]]
// CHECK:         bufferization.materialize_in_destination %[[Y]] in writable %[[OUT]]
func.func @result(%x: tensor<4xf32> {bufferization.writable = false},
                  %out: memref<4xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = cp.call "exp" ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) {}
      -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out
      : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// What is put into a slice is written there, where what the slice is of is there
// already: the second op can, the first one cannot.

// CHECK-LABEL: func.func @slices(
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         %[[A:.*]] = cp.call "exp" {{.*}} outs(%[[EMPTY]]
// CHECK:         %[[WHOLE:.*]] = cp.call "fill"
// CHECK:         %[[ONE:.*]] = tensor.insert_slice %[[A]] into %[[WHOLE]][0] [4] [1]
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %[[ONE]][4] [4] [1]
// CHECK-NEXT:    %[[B:.*]] = cp.call "exp" {{.*}} outs(%[[PLACE]]
// CHECK:         tensor.insert_slice %[[B]] into %[[ONE]][4] [4] [1]
func.func @slices(%x: tensor<4xf32> {bufferization.writable = false},
                  %out: memref<8xf32>) {
  %e0 = tensor.empty() : tensor<4xf32>
  %0 = cp.call "exp" ins(%x : tensor<4xf32>) outs(%e0 : tensor<4xf32>) {}
      -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %1 = cp.call "fill" ins(%x : tensor<4xf32>) outs(%e1 : tensor<8xf32>) {}
      -> tensor<8xf32>
  %2 = tensor.insert_slice %0 into %1[0] [4] [1]
      : tensor<4xf32> into tensor<8xf32>
  %e2 = tensor.empty() : tensor<4xf32>
  %3 = cp.call "exp" ins(%x : tensor<4xf32>) outs(%e2 : tensor<4xf32>) {}
      -> tensor<4xf32>
  %4 = tensor.insert_slice %3 into %2[4] [4] [1]
      : tensor<4xf32> into tensor<8xf32>
  bufferization.materialize_in_destination %4 in restrict writable %out
      : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// Private functions are no entry points.

// CHECK-LABEL: func.func private @helper(
// CHECK:         tensor.empty
func.func private @helper(%x: tensor<4xf32>, %out: memref<4xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = cp.call "exp" ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) {}
      -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out
      : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
