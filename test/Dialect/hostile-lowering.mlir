// RUN: %cp-opt %s --cp-lower-pipeline --split-input-file --verify-diagnostics

// Programs that once ended the compiler instead of an error, or came out wrong.

func.func @element_size() {
  // expected-error @below {{'memref.alloc' op cannot be planned: its size and layout must be known}}
  %0 = memref.alloc() : memref<4xindex>
  cp.call "f" outs(%0 : memref<4xindex>) {}
  return
}

// -----

func.func @memref_of_memrefs() {
  // expected-error @below {{'memref.alloc' op cannot be planned}}
  %0 = memref.alloc() : memref<4xmemref<4xf32>>
  cp.call "f" outs(%0 : memref<4xmemref<4xf32>>) {}
  return
}

// -----

func.func @size_beyond_64_bits() {
  // expected-error @below {{'memref.alloc' op cannot be planned}}
  %0 = memref.alloc() : memref<9223372036854775807x9223372036854775807xf32>
  cp.call "f"
      outs(%0 : memref<9223372036854775807x9223372036854775807xf32>) {}
  return
}

// -----

func.func @kernel_with_result(%x: memref<4xf32>) {
  %0 = func.call @same(%x) : (memref<4xf32>) -> memref<4xf32>
  cp.call "f" outs(%0 : memref<4xf32>) {}
  return
}
// expected-error @below {{'func.func' op must take buffers of known sizes}}
func.func private @same(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

func.func @no_buffer(%x: i64) {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op cannot be part of a rank's program}}
  %0 = builtin.unrealized_conversion_cast %x : i64 to memref<8xf32>
  cp.call "f" outs(%0 : memref<8xf32>) {}
  return
}

// -----

func.func @unranked(%x: memref<*xf32>) {
  // expected-error @below {{'memref.reinterpret_cast' op cannot be part of a rank's program}}
  %0 = memref.reinterpret_cast %x to offset: [0], sizes: [4], strides: [1]
      : memref<*xf32> to memref<4xf32>
  cp.call "f" outs(%0 : memref<4xf32>) {}
  return
}

// -----

func.func @service(%x: memref<8xf32>) {
  // expected-error @below {{'cp.call' op names 'alloc', which is a service of the runtime and no operation on buffers}}
  cp.call "alloc" outs(%x : memref<8xf32>) {}
  return
}

// -----

func.func @captured_scalar(%x: tensor<8xf32>, %k: f32) -> tensor<8xf32> {
  // expected-error @below {{'linalg.generic' op reads a value from outside its body that is no constant, which no kernel can take}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]} outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32):
    %1 = arith.mulf %a, %k : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
