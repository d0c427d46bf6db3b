// RUN: %cp-opt %s --cp-plan-memory | FileCheck %s
// RUN: %cp-opt %s --cp-plan-memory --remarks-filter=memory --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The second buffer lives when the first is dead, so it takes its place; the
// third one lives beside the second.

// REMARK: remark: [Analysis] arena
// REMARK-SAME: bytes=1024, largest_live_set=1024

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[IN:.*]]: memref<128xf32>, %[[OUT:.*]]: memref<128xf32>) attributes {cp.arena = 1024 : i64}
func.func @chain(%in: memref<128xf32>, %out: memref<128xf32>) {
  // CHECK: %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1024xi8>
  // CHECK-NOT: memref.alloc
  // CHECK: %[[A:.*]] = memref.view %[[ARENA]]
  // CHECK-SAME: memref<1024xi8> to memref<128xf32>
  %a = memref.alloc() : memref<128xf32>
  // CHECK: cp.call "copy" ins(%[[IN]] {{.*}} outs(%[[A]]
  cp.call "copy" ins(%in : memref<128xf32>) outs(%a : memref<128xf32>) {}
  %b = memref.alloc() : memref<128xf32>
  cp.call "copy" ins(%a : memref<128xf32>) outs(%b : memref<128xf32>) {}
  %c = memref.alloc() : memref<128xf32>
  cp.call "copy" ins(%b : memref<128xf32>) outs(%c : memref<128xf32>) {}
  // A use of a view is a use of the buffer.
  %view = memref.subview %c[0] [128] [1] : memref<128xf32> to memref<128xf32, strided<[1]>>
  cp.call "copy" ins(%view : memref<128xf32, strided<[1]>>) outs(%out : memref<128xf32>) {}
  return
}
