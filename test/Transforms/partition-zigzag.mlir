// RUN: %cp-opt %s --cp-partition --split-input-file | FileCheck %s
// RUN: %cp-opt %s --cp-partition --cp-lower-reshards --split-input-file | FileCheck %s --check-prefix=STAYS --implicit-check-not=cp.reorder

// No row changes its rank.
// STAYS: cp.halo

// A rank's 4 rows are two parts of the sequence. The op sees them as two
// batches of 2 rows; the halo has rows for both.

#mesh = #cp.mesh<"cp" = 4>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#whole3 = #cp.layout<#mesh, [{}, {}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x4x24xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<24x3xf32>
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<3x2x24xf32>
// CHECK-SAME:    %[[POINT:[a-z0-9]+]]: tensor<24x1xf32>
// CHECK:         %[[H:.*]] = cp.halo %[[X]] over ["cp" zigzag] of #mesh {before = 2 : i64, dim = 1 : i64} : (tensor<3x4x24xf32>) -> tensor<3x4x24xf32>
// CHECK-NEXT:    %[[XS:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3]] output_shape [3, 2, 2, 24]
// CHECK-NEXT:    %[[XP:.*]] = tensor.collapse_shape %[[XS]] {{\[\[}}0, 1], [2], [3]] : tensor<3x2x2x24xf32> into tensor<6x2x24xf32>
// CHECK-NEXT:    %[[HS:.*]] = tensor.expand_shape %[[H]] {{\[\[}}0], [1, 2], [3]] output_shape [3, 2, 2, 24]
// CHECK-NEXT:    %[[HP:.*]] = tensor.collapse_shape %[[HS]] {{\[\[}}0, 1], [2], [3]] : tensor<3x2x2x24xf32> into tensor<6x2x24xf32>
// CHECK-NEXT:    %[[A:.*]] = cp.conv1d %[[XP]] weight(%[[W]]) initial(%[[HP]])
// CHECK-NEXT:    %[[AS:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1], [2], [3]] output_shape [3, 2, 2, 24]
// CHECK-NEXT:    %[[AP:.*]] = tensor.collapse_shape %[[AS]] {{\[\[}}0], [1, 2], [3]] : tensor<3x2x2x24xf32> into tensor<3x4x24xf32>
// The given rows stand before the first part alone: they go to the halo.
// CHECK-NEXT:    cp.halo %[[AP]] initial(%[[INIT]]) over ["cp" zigzag]
// CHECK-NOT:     cp.repeat
// A window of no rows needs nothing.
// CHECK:         %[[C:.*]] = cp.conv1d %{{.*}} weight(%[[POINT]]) : (tensor<3x4x24xf32>
// CHECK-NEXT:    return %[[C]]
func.func @windows(%x: tensor<3x16x24xf32, #rows>,
    %w: tensor<24x3xf32, #whole2>, %init: tensor<3x2x24xf32, #whole3>,
    %point: tensor<24x1xf32, #whole2>)
    -> tensor<3x16x24xf32, #rows> attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<3x16x24xf32, #rows>, tensor<24x3xf32, #whole2>)
      -> tensor<3x16x24xf32, #rows>
  %1 = cp.conv1d %0 weight(%w) initial(%init)
      : (tensor<3x16x24xf32, #rows>, tensor<24x3xf32, #whole2>,
         tensor<3x2x24xf32, #whole3>) -> tensor<3x16x24xf32, #rows>
  %2 = cp.conv1d %1 weight(%point)
      : (tensor<3x16x24xf32, #rows>, tensor<24x1xf32, #whole2>)
      -> tensor<3x16x24xf32, #rows>
  return %2 : tensor<3x16x24xf32, #rows>
}

// -----

// The initial state belongs to the start of the sequence: every prefix has to
// take it in, that of each part.

#mesh = #cp.mesh<"cp" = 4>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}, {}]>

// CHECK-LABEL: func.func @scan(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x4x2x8xf32>
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<3x4x2xf32>
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<3x4x1x4xf32>
// CHECK-SAME:    %[[SKIP:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<3x2x8x4xf32>
// CHECK:         %[[XP:.*]] = tensor.collapse_shape {{.*}} into tensor<6x2x2x8xf32>
// CHECK:         %[[DTP:.*]] = tensor.collapse_shape {{.*}} into tensor<6x2x2xf32>
// CHECK:         %[[BP:.*]] = tensor.collapse_shape {{.*}} into tensor<6x2x1x4xf32>
// CHECK:         %[[CP:.*]] = tensor.collapse_shape {{.*}} into tensor<6x2x1x4xf32>
// CHECK:         %[[BOTH:.*]] = cp.repeat %[[INIT]] {dim = 0 : i64, times = 2 : i64, unit = 1 : i64} : tensor<3x2x8x4xf32> -> tensor<6x2x8x4xf32>
// CHECK-NEXT:    %[[D:.*]], %[[S:.*]], %[[CHUNKS:.*]], %[[DELTA:.*]] = cp.ssd_states %[[XP]] dt(%[[DTP]]) A_log(%[[A]]) B(%[[BP]]) {chunk_size = 2 : i64}
// CHECK-SAME:      -> (tensor<6x2xf32>, tensor<6x2x8x4xf32>, tensor<6x1x2x8x4xf32>, tensor<6x2x2xf32>)
// CHECK-NEXT:    %[[PD:.*]], %[[PS:.*]] = cp.scan_state %[[D]], %[[S]] over ["cp" zigzag] of #mesh {algorithm = #cp.scan_algorithm<doubling>}
// CHECK-NEXT:    %[[Y:.*]], %{{.*}} = cp.ssd_scan %[[XP]] A_log(%[[A]]) B(%[[BP]]) C(%[[CP]]) D(%[[SKIP]]) kept(%[[CHUNKS]], %[[DELTA]]) prefix(%[[PD]], %[[PS]]) initial(%[[BOTH]])
// CHECK-NEXT:    %[[YS:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2], [3], [4]]
// CHECK-NEXT:    %[[YP:.*]] = tensor.collapse_shape %[[YS]] {{\[\[}}0], [1, 2], [3], [4]] {{.*}} into tensor<3x4x2x8xf32>
// CHECK-NEXT:    return %[[YP]]
func.func @scan(%x: tensor<3x16x2x8xf32, #rows4>,
    %dt: tensor<3x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<3x16x1x4xf32, #rows4>, %d: tensor<2xf32, #whole1>,
    %init: tensor<3x2x8x4xf32, #whole4>)
    -> tensor<3x16x2x8xf32, #rows4> attributes {cp.view = "global"} {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) D(%d) initial(%init)
      {chunk_size = 2, algorithm = #cp.scan_algorithm<doubling>}
      : (tensor<3x16x2x8xf32, #rows4>, tensor<3x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<3x16x1x4xf32, #rows4>,
         tensor<3x16x1x4xf32, #rows4>, tensor<2xf32, #whole1>,
         tensor<3x2x8x4xf32, #whole4>)
      -> (tensor<3x16x2x8xf32, #rows4>, tensor<3x2x8x4xf32, #whole4>)
  return %y : tensor<3x16x2x8xf32, #rows4>
}

// -----

// Channels cut over one axis and the sequence over another: the group is that
// of the sequence.

#mesh = #cp.mesh<"ring" = 2, "u" = 2>
#weight = #cp.layout<#mesh, [{"u"}, {}]>
#rows = #cp.layout<#mesh, [{}, {"ring" zigzag}, {"u"}]>

// CHECK-LABEL: func.func @two_dimensions(
// CHECK:         cp.halo {{.*}} over ["ring" zigzag] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x8x12xf32>) -> tensor<1x6x12xf32>
// CHECK:         cp.conv1d {{.*}} -> tensor<2x4x12xf32>
func.func @two_dimensions(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x4xf32, #weight>) -> tensor<1x16x24xf32, #rows>
    attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #weight>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

// On one rank all orders are the same.

#mesh = #cp.mesh<"ring" = 4, "u" = 1>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"ring" zigzag, "u"}, {}]>
#stripe = #cp.layout<#mesh, [{}, {"u" striped, "ring"}, {}]>

// CHECK-LABEL: func.func @axes_of_one_rank(
// CHECK:         cp.halo {{.*}} over ["ring" zigzag] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x8x24xf32>) -> tensor<1x6x24xf32>
// CHECK:         cp.halo {{.*}} over ["u", "ring"] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x8x24xf32>) -> tensor<1x3x24xf32>
func.func @axes_of_one_rank(%x: tensor<1x32x24xf32, #rows>,
    %y: tensor<1x32x24xf32, #stripe>, %w: tensor<24x4xf32, #whole2>)
    -> (tensor<1x32x24xf32, #rows>, tensor<1x32x24xf32, #stripe>)
    attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x32x24xf32, #rows>, tensor<24x4xf32, #whole2>)
      -> tensor<1x32x24xf32, #rows>
  %1 = cp.conv1d %y weight(%w)
      : (tensor<1x32x24xf32, #stripe>, tensor<24x4xf32, #whole2>)
      -> tensor<1x32x24xf32, #stripe>
  return %0, %1 : tensor<1x32x24xf32, #rows>, tensor<1x32x24xf32, #stripe>
}

// -----

// A window of its own row alone runs in any order.

#mesh = #cp.mesh<"ring" = 2, "u" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"ring" zigzag, "u" striped}, {}]>

// CHECK-LABEL: func.func @point(
// CHECK-NEXT:    cp.conv1d {{.*}} -> tensor<1x4x24xf32>
// CHECK-NEXT:    return
func.func @point(%x: tensor<1x16x24xf32, #rows>, %w: tensor<24x1xf32, #whole2>)
    -> tensor<1x16x24xf32, #rows> attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x1xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

// Places of a rank's rows are those of its two parts.

#mesh = #cp.mesh<"cp" = 4>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows2 = #cp.layout<#mesh, [{}, {"cp" zigzag}]>
#rows = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>

// CHECK-LABEL: func.func @places(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<3x4xi64>
// CHECK:         %[[PS:.*]] = tensor.expand_shape %[[P]] {{\[\[}}0], [1, 2]] output_shape [3, 2, 2]
// CHECK-NEXT:    %[[PP:.*]] = tensor.collapse_shape %[[PS]] {{\[\[}}0, 1], [2]] : tensor<3x2x2xi64> into tensor<6x2xi64>
// CHECK:         cp.conv1d {{.*}} places(%[[PP]])
func.func @places(%x: tensor<3x16x24xf32, #rows>,
    %w: tensor<24x3xf32, #whole2>, %p: tensor<3x16xi64, #rows2>)
    -> tensor<3x16x24xf32, #rows> attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w) places(%p)
      : (tensor<3x16x24xf32, #rows>, tensor<24x3xf32, #whole2>,
         tensor<3x16xi64, #rows2>) -> tensor<3x16x24xf32, #rows>
  return %0 : tensor<3x16x24xf32, #rows>
}
