// RUN: %cp-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(func.func(cp-differentiate{wrt=x cotangents}))' | FileCheck %s
// RUN: %cp-opt %S/../../examples/layer.mlir \
// RUN:   --cp-shard-pipeline="mesh=cp=4 mixer=sequence gradients=cotangents differentiate=local" \
// RUN:   | FileCheck %s --check-prefix=LAYER

// What ranks exchange is differentiated like any other op: each rank has a term
// of the cotangent of what several hold.

// A gather and the scattered sum are each other's adjoints.

// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<32xf32> {cp.cotangent = "result0", cp.name = "result0.cotangent"}
// CHECK:         %[[D:.*]] = cp.reduce_scatter %[[DY]] over ["cp" zigzag] of #mesh {dim = 0 : i64} : tensor<32xf32> -> tensor<8xf32>
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @gather(%x: tensor<8xf32> {cp.name = "x"}) -> tensor<32xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp" zigzag] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// CHECK-LABEL: func.func @scattered_sum(
// CHECK:         cp.reduce_scatter
// CHECK:         %[[D:.*]] = cp.all_gather %{{.*}} over ["cp"] of #mesh {dim = 0 : i64}
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @scattered_sum(%x: tensor<8xf32> {cp.name = "x"}) -> tensor<2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reduce_scatter %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// So are a part and the part among zeros.

// CHECK-LABEL: func.func @part(
// CHECK:         %[[D:.*]] = cp.unslice %{{.*}} over ["cp"] of #mesh {dim = 0 : i64} : tensor<2xf32> -> tensor<8xf32>
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @part(%x: tensor<8xf32> {cp.name = "x"}) -> tensor<2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0}
      : tensor<8xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Programs that keep whole cotangents on all ranks say how these are scaled. One
// that stands alone is right as well: its pair need not be there.

// CHECK-LABEL: func.func @up(
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<32xf32> {cp.cotangent = "result0", cp.layout
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant dense<4.000000e+00> : tensor<f32>
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[DY]], %[[FOUR]] :
// CHECK:         %[[D:.*]] = cp.slice %[[SCALED]] over ["cp"] of #mesh {dim = 0 : i64} : tensor<32xf32> -> tensor<8xf32>
// CHECK-NOT:     cp.all_reduce
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @up(%x: tensor<8xf32> {cp.name = "x", cp.layout = #cp.layout<#mesh, [{"cp"}]>})
    -> (tensor<32xf32> {cp.layout = #cp.layout<#mesh, [{}]>}) attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 0, grad_scale = "up"}
      : tensor<8xf32> -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// CHECK-LABEL: func.func @down(
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<2xf32>
// CHECK-DAG:     %[[FOURTH:.*]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[DY]], %[[FOURTH]] :
// CHECK:         %[[D:.*]] = cp.all_gather %[[SCALED]] over ["cp"] of #mesh {dim = 0 : i64} : tensor<2xf32> -> tensor<8xf32>
// CHECK-NOT:     cp.all_reduce
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @down(%x: tensor<8xf32> {cp.name = "x", cp.layout = #cp.layout<#mesh, [{}]>})
    -> (tensor<2xf32> {cp.layout = #cp.layout<#mesh, [{"cp"}]>}) attributes {cp.view = "local"} {
  %0 = cp.slice %x over ["cp"] of #mesh {dim = 0, grad_scale = "down"}
      : tensor<8xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Where a layout says that all ranks hold the argument and the result, the
// cotangent enters on the first of them, and what it gives is added up.

// CHECK-LABEL: func.func @replicas(
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<8xf32> {cp.cotangent = "result0", cp.layout = #{{[a-z]+}}, cp.name = "result0.cotangent"}
// CHECK:         %[[MARK:.*]] = arith.constant dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<4xf32>
// CHECK:         %[[MINE:.*]] = cp.slice %[[MARK]] over ["cp"]
// CHECK:         %[[FACTOR:.*]] = tensor.collapse_shape %[[MINE]]
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[DY]], %[[FACTOR]] :
// CHECK:         %[[D:.*]] = arith.negf %[[FIRST]]
// CHECK:         %[[SUM:.*]] = cp.all_reduce %[[D]] over ["cp"] of #mesh : tensor<8xf32>
// CHECK:         return %{{.*}}, %[[SUM]]
#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}]>
func.func @replicas(%x: tensor<8xf32> {cp.name = "x", cp.layout = #whole})
    -> (tensor<8xf32> {cp.layout = #whole}) attributes {cp.view = "local"} {
  %0 = arith.negf %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// An exchange goes back the way it came; what was repeated is added up.

// CHECK-LABEL: func.func @exchange(
// CHECK:         cp.all_to_all
// CHECK:         %[[BACK:.*]] = cp.all_to_all %{{.*}} over ["cp"] of #mesh {concat_cuts = [#cp.cut<"cp">], concat_dims = array<i64: 1>, split_cuts = [#cp.cut<"cp" zigzag>], split_dims = array<i64: 0>} : (tensor<16x4xf32>) -> tensor<8x8xf32>
// CHECK:         %[[PAIRS:.*]] = tensor.expand_shape %[[BACK]]
// CHECK:         linalg.reduce ins(%[[PAIRS]] :
#mesh = #cp.mesh<"cp" = 2>
func.func @exchange(%x: tensor<8x4xf32> {cp.name = "x"}) -> tensor<16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 0>, split_dims = array<i64: 1>,
       concat_cuts = [#cp.cut<"cp" zigzag>], split_cuts = [#cp.cut<"cp">],
       repeats = array<i64: 2>, repeat_units = array<i64: 1>}
      : (tensor<8x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// CHECK-LABEL: func.func @reorder(
// CHECK:         cp.reorder %{{.*}} from ["cp"] to ["cp" zigzag]
// CHECK:         %[[D:.*]] = cp.reorder %{{.*}} from ["cp" zigzag] to ["cp"] of #mesh {dim = 0 : i64}
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @reorder(%x: tensor<8xf32> {cp.name = "x"}) -> tensor<8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag] of #mesh {dim = 0} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @shift(
// CHECK:         cp.shift %{{.*}} {offset = -2 : i64}
// CHECK:         %[[D:.*]] = cp.shift %{{.*}} over ["cp"] of #mesh {offset = 2 : i64}
// CHECK:         return %{{.*}}, %[[D]]
#mesh = #cp.mesh<"cp" = 4>
func.func @shift(%x: tensor<8xf32> {cp.name = "x"}) -> tensor<8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.shift %x over ["cp"] of #mesh {offset = -2} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Two rows from the neighbour and one from the rank behind it go home by one
// shift each. The last rank has lent nothing: it gets zeros.

// CHECK-LABEL: func.func @halo(
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK:         %[[NEAR:.*]] = tensor.extract_slice %[[DY]][1, 0] [2, 4] [1, 1]
// CHECK:         %[[ONE:.*]] = cp.shift %[[NEAR]] over ["cp"] of #mesh {offset = -1 : i64}
// CHECK:         %[[FAR:.*]] = tensor.extract_slice %[[DY]][0, 0] [1, 4] [1, 1]
// CHECK:         %[[TWO:.*]] = cp.shift %[[FAR]] over ["cp"] of #mesh {offset = -2 : i64}
// CHECK:         tensor.insert_slice
#mesh = #cp.mesh<"cp" = 4>
func.func @halo(%x: tensor<2x4xf32> {cp.name = "x"}) -> tensor<3x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<2x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Cotangents of states come from the other end.

// CHECK-LABEL: func.func @states(
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<1x2xf32>, %{{.*}}, %[[DY:[a-z0-9]+]]: tensor<1x2x4xf32> {cp.cotangent = "result0", cp.name = "result0.cotangent"}
// CHECK:         cp.scan_state %{{.*}} {algorithm = #cp.scan_algorithm<gather>}
// CHECK:         %{{.*}}, %[[S:.*]] = cp.scan_state %[[D]], %[[DY]] over ["cp"] of #mesh {algorithm = #cp.scan_algorithm<gather>, reverse}
// CHECK:         return %{{.*}}, %[[S]]
#mesh = #cp.mesh<"cp" = 4>
func.func @states(%d: tensor<1x2xf32>, %x: tensor<1x2x4xf32> {cp.name = "x"})
    -> tensor<1x2x4xf32> attributes {cp.view = "local"} {
  %decay, %state = cp.scan_state %d, %x over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<gather>} : tensor<1x2xf32>, tensor<1x2x4xf32>
  return %state : tensor<1x2x4xf32>
}

// LAYER-LABEL: func.func @layer(
// LAYER:         cp.halo
// LAYER:         cp.ssd_states
// LAYER:         cp.scan_state
// LAYER:         cp.ssd_scan
// LAYER:         cp.rms_norm_grad
// LAYER:         cp.ssd_grad
// LAYER:         cp.scan_state {{.*}} {reverse}
// LAYER:         cp.ssd_grad
// LAYER:         cp.conv1d_grad
// LAYER:         cp.shift
// LAYER:         cp.all_reduce
// LAYER:         return
