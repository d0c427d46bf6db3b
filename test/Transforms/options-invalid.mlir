// Options that name no mesh, axis, mixer or scan end cp-opt with an error, on
// the passes and on the pipelines.

// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=four" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=2,cp=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 axis=tp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=ring" 2>&1 | FileCheck %s --check-prefix=MIXER
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 scan=tree" 2>&1 | FileCheck %s --check-prefix=SCAN
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=ring" 2>&1 | FileCheck %s --check-prefix=MIXER
// RUN: not %cp-opt %s --cp-pipeline="mesh=cp=4 axis=tp" 2>&1 | FileCheck %s --check-prefix=AXIS

// TEXT:   error: mesh 'cp' must be axes and sizes such as dp=2,cp=4, but 'cp' is not
// NUMBER: error: mesh 'cp=four' must be axes and sizes such as dp=2,cp=4, but 'cp=four' is not
// ZERO:   error: mesh 'cp=0': mesh_c2: axis "cp": expected a size of at least 1, got 0
// TWICE:  error: mesh 'cp=2,cp=2': mesh_c1: the axes 0 and 1 are both named "cp"
// AXIS:   error: axis 'tp' is not an axis of mesh 'cp=4'
// MIXER:  error: mixer must be hidden or sequence, but is 'ring'
// SCAN:   error: scan must be chain, gather, doubling, pipelined or transposed, but is 'tree'

func.func @f(%x: tensor<1x16xf32> {cp.sequence = 1 : i64}) -> tensor<1x16xf32> {
  return %x : tensor<1x16xf32>
}
