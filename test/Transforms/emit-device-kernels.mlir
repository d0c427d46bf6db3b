// RUN: %cp-opt %s --cp-emit-device-kernels | FileCheck %s

// What one thread does of each outlined loop: parallel dimensions are one index,
// the last one fastest.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#transposed = affine_map<(i, j) -> (j, i)>

// CHECK:      func.func private @square({{.*}}) attributes {cp.device_threads = 24 : i64}
// CHECK:      func.func private @sum({{.*}}) attributes {cp.device_threads = 4 : i64}
// CHECK:      func.func private @zero({{.*}}) attributes {cp.device_threads = 3 : i64}

// CHECK:      module @cp_device {
// CHECK-LABEL:  func.func @square(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) {
// CHECK:          %[[X:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<4x6xf32, strided<[8, 1]>>
// CHECK:          %[[Y:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<4x6xf32>
// CHECK:          nvvm.read.ptx.sreg.ctaid.x
// CHECK:          nvvm.read.ptx.sreg.ntid.x
// CHECK:          nvvm.read.ptx.sreg.tid.x
// CHECK:          %[[THREAD:.*]] = arith.addi
// CHECK:          %[[COUNT:.*]] = arith.constant 24 : index
// CHECK:          %[[WITHIN:.*]] = arith.cmpi slt, %[[THREAD]], %[[COUNT]]
// CHECK:          scf.if %[[WITHIN]] {
// CHECK:            %[[J:.*]] = arith.remui %[[THREAD]], %{{c6.*}} : index
// CHECK:            %[[REST:.*]] = arith.divui %[[THREAD]], %{{c6.*}} : index
// CHECK:            %[[I:.*]] = arith.remui %[[REST]], %{{c4.*}} : index
// CHECK:            %[[A:.*]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK:            %[[SQUARE:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK:            memref.store %[[SQUARE]], %[[Y]][%[[I]], %[[J]]]
func.func private @square(%x: memref<4x6xf32, strided<[8, 1]>>,
                          %y: memref<4x6xf32>) {
  linalg.generic {indexing_maps = [#id, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x6xf32, strided<[8, 1]>>) outs(%y : memref<4x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// What is summed over is a loop of the thread.

// CHECK-LABEL:  func.func @sum(
// CHECK:          scf.if
// CHECK:            %[[I:.*]] = arith.remui
// CHECK:            scf.for %[[J:.*]] = %{{c0.*}} to %{{c6.*}} step
// CHECK:              memref.load %{{.*}}[%[[J]], %[[I]]] : memref<6x4xf32>
// CHECK:              memref.load %{{.*}}[%[[I]]] : memref<4xf32>
// CHECK:              memref.store {{.*}}[%[[I]]] : memref<4xf32>
func.func private @sum(%x: memref<6x4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#transposed, #row],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<6x4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL:  func.func @zero(
// CHECK:          %[[ZERO:.*]] = arith.constant 0.0{{.*}} : bf16
// CHECK:          memref.store %[[ZERO]]
func.func private @zero(%y: memref<3xbf16>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%y : memref<3xbf16>)
  return
}
