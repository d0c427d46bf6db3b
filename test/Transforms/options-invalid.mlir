// Options that name no mesh, axis, mixer or scan end cp-opt with an error, on
// the passes and on the pipelines.

// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=four" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=2,cp=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 axis=tp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=ring" 2>&1 | FileCheck %s --check-prefix=MIXER
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 scan=tree" 2>&1 | FileCheck %s --check-prefix=SCAN
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 attention=star" 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 order=backward" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 order=striped:0" 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 axis=cp,cp" 2>&1 | FileCheck %s --check-prefix=AXIS-TWICE
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 tp=cp" 2>&1 | FileCheck %s --check-prefix=AXIS-TWICE
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 tp=t" 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 tp-rows" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not %cp-opt %s --cp-assign-layouts="mesh=cp=4 order=striped:1152921504606846976" 2>&1 | FileCheck %s --check-prefix=LENGTH
// RUN: not %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=ring" 2>&1 | FileCheck %s --check-prefix=MIXER
// RUN: not %cp-opt %s --cp-pipeline="mesh=cp=4 axis=tp" 2>&1 | FileCheck %s --check-prefix=AXIS

// TEXT:   error: mesh 'cp' must be axes and sizes such as dp=2,cp=4, but 'cp' is not
// NUMBER: error: mesh 'cp=four' must be axes and sizes such as dp=2,cp=4, but 'cp=four' is not
// ZERO:   error: mesh 'cp=0': mesh_c2: axis "cp": expected a size of at least 1, got 0
// TWICE:  error: mesh 'cp=2,cp=2': mesh_c1: the axes 0 and 1 are both named "cp"
// AXIS:   error: axis 'tp' is not an axis of mesh 'cp=4'
// MIXER:  error: mixer must be hidden, sequence or 2d, but is 'ring'
// ATTENTION: error: attention must be ulysses, ring, gather or 2d, but is 'star'
// ROWS:   error: tp-rows cuts rows over the axis of tensor parallelism; name that by tp
// ORDER:  error: order must be contiguous, zigzag, striped, striped:UNIT with a unit of at least 1, zigzag_per_document, or contiguous_per_document, but is 'backward'
// UNIT:   error: order must be contiguous, zigzag, striped, striped:UNIT with a unit of at least 1, zigzag_per_document, or contiguous_per_document, but is 'striped:0'
// AXIS-TWICE: error: axis 'cp' is used twice; an axis cuts the sequence once, or the batch, or is that of tensor parallelism
// TENSOR: error: axis 't' is not an axis of mesh 'cp=4'
// LENGTH: error: {{.*}}assign_c1: the sequence of argument 0 (16 tokens) would be 4611686018427387904 tokens for its cuts to divide it; give them smaller units
// SCAN:   error: scan must be chain, gather, doubling, pipelined or transposed, but is 'tree'

func.func @f(%x: tensor<1x16xf32> {cp.sequence = 1 : i64}) -> tensor<1x16xf32> {
  return %x : tensor<1x16xf32>
}
