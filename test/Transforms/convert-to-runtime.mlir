// RUN: %cp-opt %s --convert-cp-to-runtime | FileCheck %s

// What calls differ in is one constant for a function: for each call a record of
// the number of its buffers and of the words of its descriptor; for each buffer
// where it begins (an argument's number, or minus the frame's slot that has the
// pointer) and the bytes from there; and the descriptor. That is counts of inputs,
// outputs and attribute words, the call's number, then type, rank, sizes and
// strides of each buffer, then the attributes.

// One function takes a record: it writes a table of pointers.
// CHECK:       llvm.func @cp_next(%[[FRAME:.*]]: !llvm.ptr) -> !llvm.ptr attributes {no_inline} {
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.getelementptr %[[FRAME]][0]
// CHECK-NEXT:    %[[RECORD:.*]] = llvm.load %[[NEXT]]
// CHECK-NEXT:    %[[ARGSLOT:.*]] = llvm.getelementptr %[[FRAME]][1]
// CHECK-NEXT:    %[[ARGS:.*]] = llvm.load %[[ARGSLOT]]
// CHECK-NEXT:    %[[TABLESLOT:.*]] = llvm.getelementptr %[[FRAME]][2]
// CHECK-NEXT:    %[[TABLE:.*]] = llvm.load %[[TABLESLOT]]
// CHECK-NEXT:    %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-NEXT:    %[[COUNT:.*]] = llvm.load %[[RECORD]] : !llvm.ptr -> i64
// CHECK-NEXT:    %[[LENGTHPLACE:.*]] = llvm.getelementptr %[[RECORD]][1]
// CHECK-NEXT:    %[[LENGTH:.*]] = llvm.load %[[LENGTHPLACE]]
// CHECK-NEXT:    %[[BUFFERS:.*]] = llvm.getelementptr %[[RECORD]][2]
// CHECK:       ^{{.*}}(%[[I:.*]]: i64):
// CHECK-NEXT:    llvm.icmp "slt" %[[I]], %[[COUNT]]
// CHECK:         %[[BASE:.*]] = llvm.load
// CHECK:         %[[BYTES:.*]] = llvm.load
// CHECK-NEXT:    %[[INFRAME:.*]] = llvm.icmp "slt" %[[BASE]], %[[ZERO]]
// CHECK-NEXT:    %[[SLOT:.*]] = llvm.sub %[[ZERO]], %[[BASE]]
// CHECK-NEXT:    %[[FROM:.*]] = llvm.select %[[INFRAME]], %[[FRAME]], %[[ARGS]]
// CHECK-NEXT:    %[[NUMBER:.*]] = llvm.select %[[INFRAME]], %[[SLOT]], %[[BASE]]
// CHECK-NEXT:    %[[HOME:.*]] = llvm.getelementptr %[[FROM]][%[[NUMBER]]]
// CHECK-NEXT:    %[[START:.*]] = llvm.load %[[HOME]]
// CHECK-NEXT:    %[[ENTRY:.*]] = llvm.getelementptr %[[TABLE]][%[[I]]]
// CHECK-NEXT:    %[[POINTER:.*]] = llvm.getelementptr %[[START]][%[[BYTES]]] : {{.*}}, i8
// CHECK-NEXT:    llvm.store %[[POINTER]], %[[ENTRY]]
// CHECK:         %[[DESC:.*]] = llvm.getelementptr %[[BUFFERS]][%[[COUNT]]]
// CHECK:         %[[AFTER:.*]] = llvm.getelementptr %[[DESC]][%[[LENGTH]]]
// CHECK-NEXT:    llvm.store %[[AFTER]]
// CHECK-NEXT:    llvm.return %[[DESC]]

// The matmul; the copy, whose source is a view, two rows of 16 floats further on;
// and the launch of a kernel, which has no descriptor.
// CHECK:       llvm.mlir.global internal constant @[[$CALLS:.*]](dense<[
// CHECK-SAME:    3, 24, 0, 0, 1, 0, -3, 0, 2, 1, 2, 0, 0, 2, 4, 8, 8, 1, 0, 2, 16, 8, 8, 1, 0, 2, 4, 16, 16, 1, 0, 1,
// CHECK-SAME:    2, 16, -3, 128, 2, 0, 1, 1, 0, 1, 0, 2, 2, 16, 16, 1, 0, 2, 2, 16, 16, 1,
// CHECK-SAME:    1, 0, 2, 0]>
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME:    %[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[STREAM:[a-z0-9]+]]: !llvm.ptr, %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr)
// CHECK-NEXT:    %[[SIZE:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-NEXT:    %[[FRAME:.*]] = llvm.alloca %[[SIZE]] x !llvm.ptr
// CHECK-NEXT:    %[[MOST:.*]] = llvm.mlir.constant(3 : i64)
// CHECK-NEXT:    %[[TABLE:.*]] = llvm.alloca %[[MOST]] x !llvm.ptr
// CHECK-NEXT:    %[[FIRST:.*]] = llvm.mlir.addressof @[[$CALLS]]
// CHECK-NEXT:    %[[SLOT0:.*]] = llvm.getelementptr %[[FRAME]][0]
// CHECK-NEXT:    llvm.store %[[FIRST]], %[[SLOT0]]
// CHECK-NEXT:    %[[SLOT1:.*]] = llvm.getelementptr %[[FRAME]][1]
// CHECK-NEXT:    llvm.store %[[BUFFERS]], %[[SLOT1]]
// CHECK-NEXT:    %[[SLOT2:.*]] = llvm.getelementptr %[[FRAME]][2]
// CHECK-NEXT:    llvm.store %[[TABLE]], %[[SLOT2]]

// The frame's slots after these are of allocations and constants.
// CHECK:         %[[ALLOC:.*]] = llvm.call @cprt_alloc(%[[CTX]],
// CHECK-NEXT:    %[[SLOT3:.*]] = llvm.getelementptr %[[FRAME]][3]
// CHECK-NEXT:    llvm.store %[[ALLOC]], %[[SLOT3]]

// CHECK-NEXT:    %[[DESC:.*]] = llvm.call @cp_next(%[[FRAME]])
// CHECK-NEXT:    llvm.call @cprt_matmul(%[[CTX]], %[[STREAM]], %[[DESC]], %[[TABLE]])
// CHECK-NEXT:    %[[DESC1:.*]] = llvm.call @cp_next(%[[FRAME]])
// CHECK-NEXT:    llvm.call @cprt_copy(%[[CTX]], %[[STREAM]], %[[DESC1]], %[[TABLE]])

// A kernel is launched with its address and the table.
// CHECK-NEXT:    llvm.call @cp_next(%[[FRAME]])
// CHECK-NEXT:    func.constant @kernel
// CHECK-NEXT:    %[[KERNEL:.*]] = builtin.unrealized_conversion_cast
// CHECK-NEXT:    llvm.call @cprt_launch(%[[CTX]], %[[STREAM]], %[[KERNEL]], %[[TABLE]])
// CHECK-NEXT:    %[[OLD:.*]] = llvm.getelementptr %[[FRAME]][3]
// CHECK-NEXT:    %[[FREED:.*]] = llvm.load %[[OLD]]
// CHECK-NEXT:    llvm.call @cprt_free(%[[CTX]], %[[FREED]])
// CHECK-NEXT:    llvm.return

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
  memref.dealloc %0 : memref<4x16xf32>
  return
}
func.func private @kernel(%x: memref<2x16xf32>) {
  return
}

// Every function has its own records. Constants have slots too; places may be far
// off.
// CHECK:       llvm.mlir.global internal constant @[[$MORE:.*]](dense<[
// CHECK-SAME:    2, 12, -3, 3000000000, 0, 0, 1, 1, 0, 2, 0, 1, 4, 1, 0, 1, 4, 1,
// CHECK-SAME:    2, 12, -4, 0, 0, 0, 1, 1, 0, 3, 0, 1, 4, 1, 0, 1, 4, 1]>
// CHECK-LABEL: llvm.func @far(
// CHECK:         llvm.mlir.constant(5 : i64)
// CHECK:         llvm.mlir.addressof @[[$MORE]]
// CHECK:         %[[ARENA:.*]] = llvm.call @cprt_arena(
// CHECK-NEXT:    %[[SLOT3:.*]] = llvm.getelementptr %{{.*}}[3]
// CHECK-NEXT:    llvm.store %[[ARENA]], %[[SLOT3]]
// CHECK:         %[[CONSTANT:.*]] = llvm.mlir.addressof @cp_constant
// CHECK-NEXT:    %[[SLOT4:.*]] = llvm.getelementptr %{{.*}}[4]
// CHECK-NEXT:    llvm.store %[[CONSTANT]], %[[SLOT4]]
memref.global "private" constant @four : memref<4xf32> = dense<[1., 2., 3., 4.]>
func.func @far(%y: memref<4xf32>) attributes {cp.arena = 4000000000 : i64} {
  %offset = arith.constant 3000000000 : index
  %arena = memref.alloc() : memref<4000000000xi8>
  %x = memref.view %arena[%offset][] : memref<4000000000xi8> to memref<4xf32>
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  %z = memref.get_global @four : memref<4xf32>
  memref.copy %z, %y : memref<4xf32> to memref<4xf32>
  return
}

// A call that is handed a function has one argument more.
// CHECK-LABEL: llvm.func @with_function(
// CHECK:         %[[G:.*]] = llvm.mlir.addressof @cprt_g : !llvm.ptr
// CHECK-NEXT:    llvm.call @cprt_f_with(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[G]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
func.func @with_function(%x: memref<4xf32>, %y: memref<4xf32>) {
  cp.call "f" with "g" ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {}
  return
}

// An input that is left out has a place in the table, no type (-1) and no
// dimension; its pointer is that of the table itself, which is there. Attributes
// keep their order: an array has its length before it, a float is its bits.
// CHECK:       llvm.mlir.global internal constant @{{.*}}(dense<[
// CHECK-SAME:    5, 25, -2, 0, 0, 0, -2, 0, 1, 0, 2, 0, 4, 1, 5, 5, -1, 0, 0, 1, 4, 1, -1, 0, 4, 1, 2, 1, 0, 1, 4, 1, 1, 2, 7, 8, 4607182418800017408]>
// CHECK-LABEL: llvm.func @left_out(
// CHECK:         %[[FRAME:.*]] = llvm.alloca
// CHECK-NEXT:    %[[MOST:.*]] = llvm.mlir.constant(5 : i64)
// CHECK-NEXT:    llvm.alloca %[[MOST]] x !llvm.ptr
func.func @left_out(%x: memref<4xf32>, %ids: memref<2xi64>, %y: memref<4xf32>) {
  cp.call "f" ins(none, %x, none, %ids : memref<4xf32>, memref<2xi64>)
      outs(%y : memref<4xf32>)
      {z = true, b = array<i64: 7, 8>, a = 1.0 : f64}
  return
}
