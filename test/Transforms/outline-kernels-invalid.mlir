// RUN: %cp-opt %s --cp-outline-kernels --verify-diagnostics

func.func @main(%s: f32, %x: memref<4xf32>) {
  // expected-error @below {{'linalg.fill' op reads a scalar that is no constant, which no kernel can take}}
  linalg.fill ins(%s : f32) outs(%x : memref<4xf32>)
  return
}
