// RUN: %cp-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: %cp-opt %s --canonicalize | FileCheck %s --check-prefix=UNUSED
// RUN: %cp-opt %s --control-flow-sink | FileCheck %s --check-prefix=SINK
// RUN: %cp-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM

// Every rank of a group must make its exchanges, in one order. So equal and
// unused collectives may go (on all ranks alike), but none may move to where
// only some ranks run it, or run it another number of times.

#mesh = #cp.mesh<"cp" = 4>

// CSE-LABEL: @equal
// CSE: %[[R:.*]] = cp.all_reduce
// CSE-NOT: cp.all_reduce
// CSE: arith.addf %[[R]], %[[R]]
func.func @equal(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_reduce %x over ["cp"] of #mesh : tensor<8xf32>
  %1 = cp.all_reduce %x over ["cp"] of #mesh : tensor<8xf32>
  %2 = arith.addf %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CSE-LABEL: @unused
// CSE-NEXT: return
// UNUSED-LABEL: @unused
// UNUSED-NEXT: return
func.func @unused(%x: tensor<8x4xf32>, %d: tensor<8xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<8x4xf32>) -> tensor<32x1xf32>
  %1 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 1}
      : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %2:2 = cp.scan_state %d, %x over ["cp"] of #mesh
      : tensor<8xf32>, tensor<8x4xf32>
  %3 = cp.all_gather %x over ["cp"] of #mesh {dim = 0}
      : tensor<8x4xf32> -> tensor<32x4xf32>
  %4 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8x4xf32> -> tensor<2x4xf32>
  %5 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<8x4xf32> -> tensor<2x4xf32>
  %6 = cp.all_reduce %x over ["cp"] of #mesh : tensor<8x4xf32>
  %7 = cp.shift %x over ["cp"] of #mesh {offset = 1} : tensor<8x4xf32>
  %8 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 0}
      : tensor<8x4xf32>
  %9 = cp.call "all_reduce" ins(%x : tensor<8x4xf32>)
      outs(%x : tensor<8x4xf32>) {axes = array<i64: 0>} -> tensor<8x4xf32>
  return
}

// A call on buffers writes, so it stays.
// UNUSED-LABEL: @buffers
// UNUSED: cp.call "copy"
// CSE-LABEL: @buffers
// CSE-COUNT-2: cp.call "copy"
func.func @buffers(%x: memref<8xf32>, %y: memref<8xf32>) {
  cp.call "copy" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  cp.call "copy" ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {}
  return
}

// The slice is local and may be sunk: the pass does run.
// SINK-LABEL: @branch
// SINK: cp.halo
// SINK: cp.scan_state
// SINK: cp.all_reduce
// SINK: cp.all_to_all
// SINK: cp.call "all_reduce"
// SINK: scf.if
// SINK: cp.slice
// SINK: else
func.func @branch(%c: i1, %x: tensor<8x4xf32>, %d: tensor<8xf32>)
    -> (tensor<1x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32x1xf32>,
        tensor<8x4xf32>, tensor<2x4xf32>) attributes {cp.view = "local"} {
  %halo = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 1}
      : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %decay, %state = cp.scan_state %d, %x over ["cp"] of #mesh
      : tensor<8xf32>, tensor<8x4xf32>
  %sum = cp.all_reduce %x over ["cp"] of #mesh : tensor<8x4xf32>
  %columns = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>}
      : (tensor<8x4xf32>) -> tensor<32x1xf32>
  %call = cp.call "all_reduce" ins(%x : tensor<8x4xf32>)
      outs(%x : tensor<8x4xf32>) {axes = array<i64: 0>} -> tensor<8x4xf32>
  %part = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8x4xf32> -> tensor<2x4xf32>
  %0:6 = scf.if %c -> (tensor<1x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>,
                       tensor<32x1xf32>, tensor<8x4xf32>, tensor<2x4xf32>) {
    scf.yield %halo, %state, %sum, %columns, %call, %part
        : tensor<1x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32x1xf32>,
          tensor<8x4xf32>, tensor<2x4xf32>
  } else {
    %1 = tensor.empty() : tensor<1x4xf32>
    %2 = tensor.empty() : tensor<8x4xf32>
    %3 = tensor.empty() : tensor<32x1xf32>
    %4 = tensor.empty() : tensor<2x4xf32>
    scf.yield %1, %2, %2, %3, %2, %4
        : tensor<1x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32x1xf32>,
          tensor<8x4xf32>, tensor<2x4xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5
      : tensor<1x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32x1xf32>,
        tensor<8x4xf32>, tensor<2x4xf32>
}

// A loop may run no time at all, on some ranks.
// LICM-LABEL: @loop
// LICM: cp.slice
// LICM: scf.for
// LICM: cp.all_reduce
// LICM: cp.shift
// LICM: scf.yield
func.func @loop(%n: index, %x: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>)
    attributes {cp.view = "local"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = tensor.empty() : tensor<2xf32>
  %0:3 = scf.for %i = %c0 to %n step %c1
      iter_args(%a = %x, %b = %x, %c = %y)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) {
    %sum = cp.all_reduce %x over ["cp"] of #mesh : tensor<8xf32>
    %before = cp.shift %x over ["cp"] of #mesh {offset = 1} : tensor<8xf32>
    %part = cp.slice %x over ["cp"] of #mesh {dim = 0}
        : tensor<8xf32> -> tensor<2xf32>
    scf.yield %sum, %before, %part
        : tensor<8xf32>, tensor<8xf32>, tensor<2xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<8xf32>, tensor<8xf32>, tensor<2xf32>
}
