// RUN: %cp-opt %s --convert-cp-to-runtime --split-input-file --verify-diagnostics

func.func @leftover(%x: memref<4xf32>) {
  %c = arith.constant 0 : index
  // expected-error @below {{'memref.load' op cannot be part of a rank's program; what is left there must be calls, allocations and views}}
  %0 = memref.load %x[%c] : memref<4xf32>
  return
}

// -----

func.func @element(%x: memref<4xf16>) {
  // expected-error @below {{a buffer of type 'memref<4xf16>' cannot reach the runtime, which needs known sizes and strides, and elements of f32, f64, bf16, i32 or i64}}
  %0 = memref.alloc() : memref<4xf16>
  cp.call "copy" ins(%0 : memref<4xf16>) outs(%0 : memref<4xf16>) {}
  return
}

// -----

func.func @size(%n: memref<4xf32>) {
  %c = arith.constant 4 : index
  // expected-error @below {{'memref.alloc' op has a size that is not known when the program is compiled}}
  %0 = memref.alloc(%c) : memref<?xf32>
  return
}

// -----

func.func @offset(%x: memref<4xf32, strided<[1], offset: ?>>) {
  // expected-error @below {{'memref.subview' op views a buffer at an offset that is not known}}
  %0 = memref.subview %x[0] [2] [1] : memref<4xf32, strided<[1], offset: ?>>
      to memref<2xf32, strided<[1], offset: ?>>
  return
}

// -----

// expected-error @below {{'func.func' op must take buffers of known sizes}}
func.func private @kernel(%x: memref<?xf32>) {
  return
}

// -----

func.func @service(%x: memref<4xf32>) {
  // expected-error @below {{'cp.call' op names 'launch', which is a service of the runtime and no operation on buffers}}
  cp.call "f" with "launch" outs(%x : memref<4xf32>) {}
  return
}

// -----

module {
  module {
    // expected-error @below {{'func.func' op is in a module within the one that was given, which has no function of its own; run the passes on that one}}
    func.func @nested(%x: memref<4xf32>) {
      return
    }
  }
}
