// RUN: %cp-opt %s --cp-plan-memory | FileCheck %s
// RUN: %cp-opt %s --cp-plan-memory --remarks-filter=memory --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The second buffer lives when the first is dead, so it takes its place; the
// third one lives beside the second.

// REMARK: remark: [Analysis] arena
// REMARK-SAME: bytes=1024, largest_live_set=1024

// A place is one view, which all its buffers share, and views of it are one too.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[IN:.*]]: memref<128xf32>, %[[OUT:.*]]: memref<128xf32>) attributes {cp.arena = 1024 : i64}
// CHECK-NEXT:    %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1024xi8>
// CHECK-NEXT:    %[[START0:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[FIRST:.*]] = memref.view %[[ARENA]][%[[START0]]][] : memref<1024xi8> to memref<128xf32>
// CHECK-NEXT:    %[[START1:.*]] = arith.constant 512 : index
// CHECK-NEXT:    %[[SECOND:.*]] = memref.view %[[ARENA]][%[[START1]]][] : memref<1024xi8> to memref<128xf32>
// CHECK-NEXT:    %[[OTHER:.*]] = memref.view %[[ARENA]][%[[START1]]][] : memref<1024xi8> to memref<64xf32>
func.func @chain(%in: memref<128xf32>, %out: memref<128xf32>) {
  %a = memref.alloc() : memref<128xf32>
  // CHECK-NEXT: %[[HALF:.*]] = memref.subview %[[FIRST]][0] [64] [1]
  %half = memref.subview %a[0] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1]>>
  // CHECK-NEXT: cp.call "copy" ins(%[[IN]] {{.*}} outs(%[[FIRST]]
  cp.call "copy" ins(%in : memref<128xf32>) outs(%a : memref<128xf32>) {}
  %b = memref.alloc() : memref<128xf32>
  // CHECK-NEXT: cp.call "join" ins(%[[FIRST]], %[[HALF]] {{.*}} outs(%[[SECOND]]
  cp.call "join" ins(%a, %half : memref<128xf32>, memref<64xf32, strided<[1]>>)
      outs(%b : memref<128xf32>) {}
  %c = memref.alloc() : memref<128xf32>
  // CHECK-NEXT: cp.call "copy" ins(%[[SECOND]] {{.*}} outs(%[[FIRST]]
  cp.call "copy" ins(%b : memref<128xf32>) outs(%c : memref<128xf32>) {}
  // A use of a view is a use of the buffer.
  %view = memref.subview %c[0] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1]>>
  %rest = memref.subview %c[64] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: 64>>
  // CHECK-NEXT: %[[REST:.*]] = memref.subview %[[FIRST]][64] [64] [1]
  %d = memref.alloc() : memref<64xf32>
  // CHECK-NEXT: cp.call "copy" ins(%[[HALF]] {{.*}} outs(%[[OTHER]]
  cp.call "copy" ins(%view : memref<64xf32, strided<[1]>>) outs(%d : memref<64xf32>) {}
  // CHECK-NEXT: cp.call "join" ins(%[[REST]], %[[OTHER]] {{.*}} outs(%[[OUT]]
  cp.call "join" ins(%rest, %d : memref<64xf32, strided<[1], offset: 64>>, memref<64xf32>)
      outs(%out : memref<128xf32>) {}
  // CHECK-NEXT: return
  return
}
