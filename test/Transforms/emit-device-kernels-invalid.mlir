// RUN: not %cp-opt %s --split-input-file --cp-emit-device-kernels 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op holds more than one structured op, or none; run cp-outline-kernels first
func.func private @two(%y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<3xf32>)
  linalg.fill ins(%zero : f32) outs(%y : memref<3xf32>)
  return
}

// -----

// CHECK: error: 'func.func' op holds more than one structured op, or none; run cp-outline-kernels first
func.func private @none(%y: memref<3xf32>) {
  return
}

// -----

// CHECK: error: 'func.func' op must take buffers of known sizes and strides and give nothing, as an outlined kernel does; inline the function first
func.func private @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: error: 'func.func' op holds more than one structured op and constants; run cp-outline-kernels first
func.func private @more(%x: memref<4xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %part = memref.subview %y[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  linalg.fill ins(%zero : f32) outs(%part : memref<4xf32, strided<[1]>>)
  return
}

// -----

// CHECK: error: 'linalg.generic' op reads a value from outside its body that is no constant, which no kernel can take
#same = affine_map<(d0) -> (d0)>
func.func private @outside(%x: memref<4xf32>, %y: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  %two = arith.addf %one, %one : f32
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %two : f32
    linalg.yield %s : f32
  }
  return
}
