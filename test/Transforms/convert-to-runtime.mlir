// RUN: %cp-opt %s --convert-cp-to-runtime | FileCheck %s

// A call gets a constant descriptor (counts of inputs, outputs and attribute
// words, the call's number, then type, rank, sizes and strides of each buffer,
// then the attributes) and a table of pointers. Buffers with one descriptor
// differ in pointers only.

// CHECK-DAG:   llvm.mlir.global internal constant @[[$MATMUL:.*]](dense<[2, 1, 2, 0, 0, 2, 4, 8, 8, 1, 0, 2, 16, 8, 8, 1, 0, 2, 4, 16, 16, 1, 0, 1]> : tensor<24xi64>)
// CHECK-DAG:   llvm.mlir.global internal constant @[[$COPY:.*]](dense<[1, 1, 0, 1, 0, 2, 2, 16, 16, 1, 0, 2, 2, 16, 16, 1]> : tensor<16xi64>)
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME:    %[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[STREAM:[a-z0-9]+]]: !llvm.ptr, %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr)
// CHECK:         %[[TABLE:.*]] = llvm.alloca
// CHECK:         %[[SLOT2:.*]] = llvm.getelementptr %[[TABLE]][2]
// CHECK:         %[[XP:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK-NEXT:    %[[X:.*]] = llvm.load %[[XP]]
// CHECK:         %[[WP:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK-NEXT:    %[[W:.*]] = llvm.load %[[WP]]
// CHECK:         %[[YP:.*]] = llvm.getelementptr %[[BUFFERS]][2]
// CHECK-NEXT:    %[[Y:.*]] = llvm.load %[[YP]]
// CHECK:         llvm.store %[[X]], %{{.*}}
// CHECK:         llvm.store %[[W]], %{{.*}}
// CHECK:         llvm.store %{{.*}}, %[[SLOT2]]
// CHECK-NEXT:    %[[DESC:.*]] = llvm.mlir.addressof @[[$MATMUL]]
// CHECK-NEXT:    llvm.call @cprt_matmul(%[[CTX]], %[[STREAM]], %[[DESC]], %[[TABLE]])

// A view is a pointer some bytes further on: two rows of 16 floats.
// CHECK:         %{{.*}} = llvm.getelementptr %{{.*}}[128] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.mlir.addressof @[[$COPY]]
// CHECK-NEXT:    llvm.call @cprt_copy(

// A kernel is launched with its address and the table.
// CHECK:         func.constant @kernel
// CHECK:         llvm.call @cprt_launch(%[[CTX]], %[[STREAM]], %{{.*}}, %[[TABLE]])
// CHECK:         llvm.return

// CHECK:       func.func private @kernel(%[[T:.*]]: !llvm.ptr)
// CHECK:         llvm.getelementptr %[[T]][0]
func.func @main(%x: memref<4x8xf32>, %w: memref<16x8xf32>,
                %y: memref<2x16xf32>) {
  %0 = memref.alloc() : memref<4x16xf32>
  cp.call "matmul" ins(%x, %w : memref<4x8xf32>, memref<16x8xf32>)
      outs(%0 : memref<4x16xf32>) {accumulate = false, transpose_b = true}
  %1 = memref.subview %0[2, 0] [2, 16] [1, 1]
      : memref<4x16xf32> to memref<2x16xf32, strided<[16, 1], offset: 32>>
  memref.copy %1, %y
      : memref<2x16xf32, strided<[16, 1], offset: 32>> to memref<2x16xf32>
  call @kernel(%y) : (memref<2x16xf32>) -> ()
  return
}
func.func private @kernel(%x: memref<2x16xf32>) {
  return
}

// A place that is too far off for the op's own numbers is a constant.
// CHECK-LABEL: llvm.func @far(
// CHECK:         %[[FAR:.*]] = llvm.mlir.constant(3000000000 : i64)
// CHECK-NEXT:    llvm.getelementptr %{{.*}}[%[[FAR]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
func.func @far(%y: memref<4xf32>) attributes {cp.arena = 4000000000 : i64} {
  %offset = arith.constant 3000000000 : index
  %arena = memref.alloc() : memref<4000000000xi8>
  %x = memref.view %arena[%offset][] : memref<4000000000xi8> to memref<4xf32>
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}
