// RUN: %cp-opt %s --cp-overlap-exchanges | FileCheck %s

// A sum goes on until what it writes is touched, what it reads is written to, or the
// next sum is made. What is read meanwhile may be what it reads.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[DW:[a-z0-9]+]]: memref<4x8xf32>, %[[SUM:[a-z0-9]+]]: memref<4x8xf32>, %[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[Y:[a-z0-9]+]]: memref<4x8xf32>
// CHECK-NEXT:    cp.call "reduce_scatter" deferred ins(%[[DW]] : {{.*}}) outs(%[[SUM]] :
// CHECK-NEXT:    cp.call "silu" ins(%[[DW]] : {{.*}}) outs(%[[Y]] :
// CHECK-NEXT:    cp.wait ins(%[[DW]] : memref<4x8xf32>) outs(%[[SUM]] : memref<4x8xf32>)
// CHECK-NEXT:    cp.call "all_reduce" deferred ins(%[[X]] : {{.*}}) outs(%[[DW]] :
// CHECK-NEXT:    cp.call "silu"
// CHECK-NEXT:    cp.wait ins(%[[X]] : memref<4x8xf32>) outs(%[[DW]] : memref<4x8xf32>)
// CHECK-NEXT:    linalg.fill
func.func @main(%dw: memref<4x8xf32>, %sum: memref<4x8xf32>,
                %x: memref<4x8xf32>, %y: memref<4x8xf32>, %v: f32) {
  cp.call "reduce_scatter" ins(%dw : memref<4x8xf32>) outs(%sum : memref<4x8xf32>) {}
  cp.call "silu" ins(%dw : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {}
  cp.call "all_reduce" ins(%x : memref<4x8xf32>) outs(%dw : memref<4x8xf32>) {}
  cp.call "silu" ins(%sum : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {}
  linalg.fill ins(%v : f32) outs(%x : memref<4x8xf32>)
  return
}

// Through views, and inside of other ops. An exchange whose result is wanted at once,
// or behind which nothing is computed, is as it was.
// CHECK-LABEL: func.func @views(
// CHECK:         cp.call "all_reduce" ins(
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    cp.call "all_reduce" ins(
// CHECK-NEXT:    memref.subview
// CHECK-NEXT:    cp.call "silu"
// CHECK-NEXT:    cp.call "all_gather" ins(
// CHECK-NEXT:    cp.call "all_reduce" deferred
// CHECK-NEXT:    cp.call "silu"
// CHECK-NEXT:    cp.wait
// CHECK-NEXT:    linalg.generic
// CHECK:         cp.call "all_reduce" ins(
// CHECK-NEXT:    return
func.func @views(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %s: memref<f32>) {
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  memref.copy %y, %z : memref<8xf32> to memref<8xf32>
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  %part = memref.subview %y[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  cp.call "silu" ins(%part : memref<4xf32, strided<[1]>>) outs(%z : memref<8xf32>) {}
  cp.call "all_gather" ins(%part : memref<4xf32, strided<[1]>>) outs(%z : memref<8xf32>) {}
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "silu" ins(%x : memref<8xf32>) outs(%z : memref<8xf32>) {}
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      outs(%z : memref<8xf32>) {
    ^bb0(%out: f32):
      %c = arith.constant 0 : index
      %value = memref.load %y[%c] : memref<8xf32>
      linalg.yield %value : f32
  }
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  return
}

// At the end of the function it has ended, and only a program is changed.
// CHECK-LABEL: func.func @end(
// CHECK-NEXT:    cp.call "all_reduce" deferred
// CHECK-NEXT:    cp.call "silu"
// CHECK-NEXT:    cp.wait
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @other(
// CHECK-NEXT:    cp.call "all_reduce" ins(
func.func @end(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "silu" ins(%x : memref<8xf32>) outs(%z : memref<8xf32>) {}
  return
}
func.func private @other(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  cp.call "all_reduce" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "silu" ins(%x : memref<8xf32>) outs(%z : memref<8xf32>) {}
  return
}

// Parts of a parameter are gathered once the gather before has ended, into memory that
// is theirs from then on; but not before they are written.
// CHECK-LABEL: func.func @gathers(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<4xf32>, %[[B:[a-z0-9]+]]: memref<2x4xf32>, %[[C:[a-z0-9]+]]: memref<4xf32>
// CHECK-NEXT:    %[[WA:.*]] = memref.alloc
// CHECK-NEXT:    cp.call "all_gather" ins(%[[A]] :
// CHECK-NEXT:    %[[WB:.*]] = memref.alloc
// CHECK-NEXT:    %[[ROW:.*]] = memref.subview %[[B]]
// CHECK-NEXT:    cp.call "all_gather" deferred ins(%[[ROW]] : {{.*}}) outs(%[[WB]] :
// CHECK-NEXT:    cp.call "silu" ins(%[[WA]] :
// CHECK-NEXT:    cp.wait ins(%[[ROW]] : {{.*}}) outs(%[[WB]] :
// CHECK-NEXT:    cp.call "silu" ins(%[[WB]] :
// CHECK-NEXT:    cp.call "copy"
// CHECK-NEXT:    %[[WC:.*]] = memref.alloc
// CHECK-NEXT:    cp.call "all_gather" deferred ins(%[[C]] : {{.*}}) outs(%[[WC]] :
// CHECK-NEXT:    cp.call "silu" ins(%[[WA]] :
// CHECK-NEXT:    cp.wait
// CHECK-NEXT:    cp.call "silu" ins(%[[WC]] :
// CHECK-NEXT:    %[[WD:.*]] = memref.alloc
// CHECK-NEXT:    cp.call "all_gather" ins(%[[WC]] :
func.func @gathers(%a: memref<4xf32>, %b: memref<2x4xf32>, %c: memref<4xf32>, %y: memref<8xf32>) {
  %wa = memref.alloc() : memref<8xf32>
  cp.call "all_gather" ins(%a : memref<4xf32>) outs(%wa : memref<8xf32>) {}
  cp.call "silu" ins(%wa : memref<8xf32>) outs(%y : memref<8xf32>) {}
  %row = memref.subview %b[0, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<4xf32, strided<[1]>>
  %wb = memref.alloc() : memref<8xf32>
  cp.call "all_gather" ins(%row : memref<4xf32, strided<[1]>>) outs(%wb : memref<8xf32>) {}
  cp.call "silu" ins(%wb : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "copy" ins(%a : memref<4xf32>) outs(%c : memref<4xf32>) {}
  cp.call "silu" ins(%wa : memref<8xf32>) outs(%y : memref<8xf32>) {}
  %wc = memref.alloc() : memref<8xf32>
  cp.call "all_gather" ins(%c : memref<4xf32>) outs(%wc : memref<8xf32>) {}
  cp.call "silu" ins(%wc : memref<8xf32>) outs(%y : memref<8xf32>) {}
  %wd = memref.alloc() : memref<16xf32>
  cp.call "all_gather" ins(%wc : memref<8xf32>) outs(%wd : memref<16xf32>) {}
  return
}

// Of two gathers that stand together the first goes up, and the second stays: one is
// ahead. What only moves some memory is nothing to hide behind.
// CHECK-LABEL: func.func @together(
// CHECK:         cp.call "copy"
// CHECK:         cp.call "all_gather" ins(
// CHECK:         cp.call "all_gather" deferred
// CHECK-NEXT:    cp.call "silu"
// CHECK:         cp.call "all_gather" ins(
// CHECK:         cp.wait
// CHECK-NEXT:    cp.call "silu"
// CHECK:         cp.call "all_reduce" ins(
func.func @together(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %y: memref<8xf32>, %s: memref<8xf32>) {
  cp.call "copy" ins(%a : memref<4xf32>) outs(%c : memref<4xf32>) {}
  %wa = memref.alloc() : memref<8xf32>
  cp.call "all_gather" ins(%a : memref<4xf32>) outs(%wa : memref<8xf32>) {}
  cp.call "silu" ins(%wa : memref<8xf32>) outs(%y : memref<8xf32>) {}
  %wb = memref.alloc() : memref<8xf32>
  %wc = memref.alloc() : memref<8xf32>
  cp.call "all_gather" ins(%b : memref<4xf32>) outs(%wb : memref<8xf32>) {}
  cp.call "all_gather" ins(%c : memref<4xf32>) outs(%wc : memref<8xf32>) {}
  cp.call "silu" ins(%wb : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "silu" ins(%wc : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "all_reduce" ins(%wc : memref<8xf32>) outs(%s : memref<8xf32>) {}
  cp.call "copy" ins(%wb : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "sqrt" ins(%s : memref<8xf32>) outs(%y : memref<8xf32>) {}
  return
}
