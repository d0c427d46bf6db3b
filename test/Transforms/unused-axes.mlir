// An axis of several ranks over which nothing is cut is an error, on the pass and
// on the pipelines, unless its ranks may do the same work.

// RUN: not %cp-opt %s --cp-assign-layouts="mesh=dp=2,cp=2" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2,e=3 mixer=hidden" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not %cp-opt %s --cp-pipeline="mesh=cp=2,tp=2 tp=tp" 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: %cp-opt %s --cp-assign-layouts="mesh=dp=1,cp=2" | FileCheck %s --check-prefix=SMALL
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2 replicate-unused" | FileCheck %s --check-prefix=ASKED
// RUN: %cp-opt %s --cp-assign-layouts="mesh=dp=2,cp=2 replicate-unused=true" | FileCheck %s --check-prefix=ASKED

// ONE: [[@LINE+7]]:1: error: 'func.func' op assign_c4: nothing is cut over axis "dp" (2 ranks) of mesh 'dp=2,cp=2', so its ranks would all do the same work; leave it out of the mesh, name it in axis, batch or tp, or give replicate-unused if that is meant
// ONE-NOT: error
// TWO: error: 'func.func' op assign_c4: nothing is cut over axis "dp" (2 ranks) and axis "e" (3 ranks) of mesh
// TENSOR: error: 'func.func' op assign_c4: nothing is cut over axis "tp" (2 ranks)
// SMALL: func.func @main
// ASKED: func.func @main

func.func @main(%x: tensor<2x16x24xf32> {cp.sequence = 1 : i64}) -> tensor<2x16x24xf32> {
  %0 = math.exp %x : tensor<2x16x24xf32>
  return %0 : tensor<2x16x24xf32>
}

// A function that only the module calls is not asked.

func.func private @called(%x: tensor<2x16xf32> {cp.sequence = 1 : i64}) -> tensor<2x16xf32> {
  return %x : tensor<2x16xf32>
}
