// RUN: %cp-opt %s --convert-cp-to-runtime --split-input-file --verify-diagnostics

// Programs that are not yet, or no longer, what the pass takes.

// expected-error @below {{a buffer of type 'tensor<4xf32>' cannot reach the runtime}}
func.func @tensors(%x: tensor<4xf32>) {
  %0 = cp.call "f" outs(%x : tensor<4xf32>) {} -> tensor<4xf32>
  return
}

// -----

func.func @element_size() {
  // expected-error @below {{'memref.alloc' op has a size that is not known when the program is compiled}}
  %0 = memref.alloc() : memref<4xindex>
  return
}

// -----

func.func @gives(%x: memref<4xf32>) -> memref<4xf32> {
  // expected-error @below {{'func.return' op gives a value, but a rank's program writes to buffers; run cp-prepare-entry first}}
  return %x : memref<4xf32>
}

// -----

// expected-error @below {{'func.func' op must take buffers of known sizes}}
func.func private @layout(
    %x: memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>) {
  return
}

// -----

// expected-error @below {{'func.func' op must take buffers of known sizes}}
func.func private @strides(%x: memref<4x4xf32, strided<[?, 1], offset: ?>>) {
  return
}

// -----

func.func @no_body(%x: memref<4xf32>) {
  // expected-error @below {{'func.call' op cannot be part of a rank's program}}
  func.call @elsewhere(%x) : (memref<4xf32>) -> ()
  return
}
func.func private @elsewhere(memref<4xf32>)
