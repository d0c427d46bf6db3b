// RUN: %cp-opt %s --cp-outline-kernels | FileCheck %s

// Equal ops share one kernel, wherever their buffers are; the offset of a view
// goes into the pointer.

#id = affine_map<(i) -> (i)>
#view = strided<[1], offset: 8>

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4xf32>, %[[V:[a-z0-9]+]]: memref<4xf32, strided<[1], offset: 8>>, %[[Y:[a-z0-9]+]]: memref<4xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         call @[[SUM:cp_kernel_[0-9]+]](%[[X]], %[[Y]])
// CHECK-NEXT:    call @[[SUM]](%[[Y]], %[[X]])
// CHECK:         call @[[OTHER:cp_kernel_[0-9]+]](%[[X]], %[[Y]])
// CHECK-NEXT:    %[[C:.*]] = builtin.unrealized_conversion_cast %[[V]] : memref<4xf32, strided<[1], offset: 8>> to memref<4xf32, strided<[1]>>
// CHECK-NEXT:    call @[[VIEWED:cp_kernel_[0-9]+]](%[[C]], %[[Y]])
// CHECK:         call @[[FILL:cp_kernel_[0-9]+]](%[[Y]])
// CHECK-NEXT:    call @[[FILL]](%[[X]])
// CHECK:         call @[[FILL1:cp_kernel_[0-9]+]](%[[X]])
// CHECK-NEXT:    return
// CHECK:       func.func private @[[SUM]](%[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>) {
// CHECK:         linalg.generic {{.*}} ins(%[[A]] : memref<4xf32>) outs(%[[B]] : memref<4xf32>)
// CHECK:           arith.addf
// CHECK:       func.func private @[[OTHER]](
// CHECK:           arith.mulf
// CHECK:       func.func private @[[VIEWED]](%{{.*}}: memref<4xf32, strided<[1]>>
// CHECK:       func.func private @[[FILL]](
// CHECK:         %[[ZERO:.*]] = arith.constant 0.0
// CHECK:         linalg.fill ins(%[[ZERO]]
// CHECK:       func.func private @[[FILL1]](
// CHECK:         arith.constant 1.0
func.func @main(%x: memref<4xf32>, %v: memref<4xf32, #view>,
                %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%y : memref<4xf32>) outs(%x : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%v : memref<4xf32, #view>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<4xf32>)
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%x : memref<4xf32>)
  return
}
