// Options on a module that is sharded already would have no effect: an error that
// says what it is sharded for. A mesh that is its own, and no options, are none.

// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4" -o %t.local.mlir
// RUN: not %cp-opt %t.local.mlir --cp-shard-pipeline="mesh=cp=8" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %cp-opt %t.local.mlir --cp-pipeline="mesh=cp=4 mixer=hidden order=zigzag" 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: not %cp-opt %t.local.mlir --cp-assign-layouts="scan=chain" 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: %cp-opt %t.local.mlir --cp-shard-pipeline="mesh=cp=4" | FileCheck %s --check-prefix=SAME
// RUN: %cp-opt %t.local.mlir --cp-shard-pipeline | FileCheck %s --check-prefix=SAME

// MESH: error: 'func.func' op assign_c5: is sharded already (cp.view = "local", mesh 'cp=4'), so mesh has no effect; give the module before it was sharded, or leave the options out
// OTHERS: error: 'func.func' op assign_c5: is sharded already (cp.view = "local", mesh 'cp=4'), so order, mixer have no effect
// DEFAULT: error: 'func.func' op assign_c5: is sharded already (cp.view = "local", mesh 'cp=4'), so scan has no effect
// SAME: func.func @main(%{{.*}}: tensor<1x4x24xf32>

// With layouts, but not yet one rank's program.

// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" -o %t.global.mlir
// RUN: not %cp-opt %t.global.mlir --cp-shard-pipeline="mesh=cp=4 attention=gather" 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: %cp-opt %t.global.mlir --cp-shard-pipeline="mesh=cp=4" | FileCheck %s --check-prefix=SAME

// GLOBAL: error: 'func.func' op assign_c5: is sharded already (cp.view = "global", mesh 'cp=4'), so attention has no effect

// Of several public functions others may need the options, but no other mesh.

// RUN: echo 'func.func @other(%%x: tensor<1x16xf32> {cp.sequence = 1 : i64}) -> tensor<1x16xf32> { return %%x : tensor<1x16xf32> }' > %t.other.mlir
// RUN: sed '/^module/d; /^}/d' %t.local.mlir > %t.two.mlir && cat %t.other.mlir >> %t.two.mlir
// RUN: %cp-opt %t.two.mlir --cp-shard-pipeline="mesh=cp=4 mixer=hidden" | FileCheck %s --check-prefix=TWO
// RUN: not %cp-opt %t.two.mlir --cp-shard-pipeline="mesh=cp=8 mixer=hidden" 2>&1 | FileCheck %s --check-prefix=MESH

// TWO: func.func @main(%{{.*}}: tensor<1x4x24xf32>
// TWO: func.func @other(%{{.*}}: tensor<1x4xf32>

func.func @main(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64}) -> tensor<1x16x24xf32> {
  %0 = math.exp %x : tensor<1x16x24xf32>
  return %0 : tensor<1x16x24xf32>
}
