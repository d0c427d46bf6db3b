// RUN: %cp-opt %s --cp-partition --split-input-file | FileCheck %s

// Types become those of one rank's part; the layouts of arguments and results
// stay as attributes, those of a reshard stay on it.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG:   #[[$COLUMNS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-LABEL: func.func @local(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x8xf32> {cp.layout = #[[$ROWS]], cp.name = "x"})
// CHECK-SAME:    -> (tensor<1x16x2xf32> {cp.layout = #[[$COLUMNS]]}) attributes {cp.view = "local"}
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[X]] : tensor<1x4x8xf32>
// CHECK-NEXT:    %[[R:.*]] = cp.reshard %[[E]] from #[[$ROWS]] to #[[$COLUMNS]] : tensor<1x4x8xf32> to tensor<1x16x2xf32>
// CHECK-NEXT:    return %[[R]]
func.func @local(%x: tensor<1x16x8xf32, #rows> {cp.name = "x"})
    -> tensor<1x16x8xf32, #columns> attributes {cp.view = "global"} {
  %0 = math.exp %x : tensor<1x16x8xf32, #rows>
  %1 = cp.reshard %0
      : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #columns>
  return %1 : tensor<1x16x8xf32, #columns>
}

// -----

// A window that is cut along the sequence reads its earlier rows from a halo;
// the first rank gets the rows that were there before.

#mesh = #cp.mesh<"cp" = 4>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#whole3 = #cp.layout<#mesh, [{}, {}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x24xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<24x4xf32>
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<1x3x24xf32>
// CHECK-SAME:    %[[POINT:[a-z0-9]+]]: tensor<24x1xf32>
// CHECK:         %[[H:.*]] = cp.halo %[[X]] over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x4x24xf32>) -> tensor<1x3x24xf32>
// CHECK-NEXT:    %[[A:.*]] = cp.conv1d %[[X]] weight(%[[W]]) initial(%[[H]])
// CHECK-NEXT:    %[[G:.*]] = cp.halo %[[A]] initial(%[[INIT]]) over ["cp"]
// CHECK-NEXT:    %[[B:.*]] = cp.conv1d %[[A]] weight(%[[W]]) initial(%[[G]])
// CHECK-NEXT:    %[[C:.*]] = cp.conv1d %[[B]] weight(%[[POINT]]) :
// CHECK-NEXT:    return %[[C]]
func.func @windows(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x4xf32, #whole2>, %init: tensor<1x3x24xf32, #whole3>,
    %point: tensor<24x1xf32, #whole2>)
    -> tensor<1x16x24xf32, #rows> attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  %1 = cp.conv1d %0 weight(%w) initial(%init)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #whole2>,
         tensor<1x3x24xf32, #whole3>) -> tensor<1x16x24xf32, #rows>
  %2 = cp.conv1d %1 weight(%point)
      : (tensor<1x16x24xf32, #rows>, tensor<24x1xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %2 : tensor<1x16x24xf32, #rows>
}

// -----

// A scan becomes its two halves with an exclusive scan over ranks between; the
// initial state goes to the second half.

#mesh = #cp.mesh<"cp" = 4>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>

// CHECK-LABEL: func.func @scan(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x2x8xf32>
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<1x4x2xf32>
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<1x4x1x4xf32>
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<1x2x8x4xf32>
// CHECK:         %[[D:.*]], %[[S:.*]], %[[CHUNKS:.*]], %[[DELTA:.*]] = cp.ssd_states %[[X]] dt(%[[DT]]) A_log(%[[A]]) B(%[[B]]) {chunk_size = 2 : i64, dt_max = 1.000000e-01 : f64}
// CHECK-SAME:      -> (tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x4x2xf32>)
// CHECK-NEXT:    %[[PD:.*]], %[[PS:.*]] = cp.scan_state %[[D]], %[[S]] over ["cp"] of #mesh {algorithm = #cp.scan_algorithm<gather>}
// CHECK-NEXT:    %[[Y:.*]], %{{.*}} = cp.ssd_scan %[[X]] A_log(%[[A]]) B(%[[B]]) C(%[[B]]) kept(%[[CHUNKS]], %[[DELTA]]) prefix(%[[PD]], %[[PS]]) initial(%[[INIT]]) {chunk_size = 2 : i64}
// CHECK-NEXT:    return %[[Y]]
func.func @scan(%x: tensor<1x16x2x8xf32, #rows4>,
    %dt: tensor<1x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<1x16x1x4xf32, #rows4>, %init: tensor<1x2x8x4xf32, #whole4>)
    -> tensor<1x16x2x8xf32, #rows4> attributes {cp.view = "global"} {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) initial(%init)
      {chunk_size = 2, dt_max = 0.1, algorithm = #cp.scan_algorithm<gather>}
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<1x16x1x4xf32, #rows4>,
         tensor<1x16x1x4xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>)
      -> (tensor<1x16x2x8xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>)
  return %y : tensor<1x16x2x8xf32, #rows4>
}

// -----

// Cut along channels and heads nothing is exchanged, and the final state of a
// rank's heads is known.

#mesh = #cp.mesh<"cp" = 2>
#vector = #cp.layout<#mesh, [{"cp"}]>
#weight = #cp.layout<#mesh, [{"cp"}, {}]>
#channels = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#heads = #cp.layout<#mesh, [{}, {}, {"cp"}, {}]>
#state = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>

// CHECK-LABEL: func.func @hidden(
// CHECK-NOT:     cp.halo
// CHECK-NOT:     cp.scan_state
// CHECK:         cp.conv1d {{.*}} -> tensor<1x16x8xf32>
// CHECK:         tensor.expand_shape {{.*}} output_shape [1, 16, 1, 8]
// CHECK:         cp.ssd {{.*}} -> (tensor<1x16x1x8xf32>, tensor<1x1x8x4xf32>)
// CHECK-NEXT:    return
func.func @hidden(%u: tensor<1x16x16xf32, #channels>,
    %w: tensor<16x4xf32, #weight>, %dt: tensor<1x16x2xf32, #channels>,
    %a: tensor<2xf32, #vector>, %b: tensor<1x16x2x4xf32, #heads>)
    -> (tensor<1x16x2x8xf32, #heads>, tensor<1x2x8x4xf32, #state>)
    attributes {cp.view = "global"} {
  %0 = cp.conv1d %u weight(%w)
      : (tensor<1x16x16xf32, #channels>, tensor<16x4xf32, #weight>)
      -> tensor<1x16x16xf32, #channels>
  %x = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 16, 2, 8]
      : tensor<1x16x16xf32, #channels> into tensor<1x16x2x8xf32, #heads>
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<1x16x2x8xf32, #heads>, tensor<1x16x2xf32, #channels>,
         tensor<2xf32, #vector>, tensor<1x16x2x4xf32, #heads>,
         tensor<1x16x2x4xf32, #heads>)
      -> (tensor<1x16x2x8xf32, #heads>, tensor<1x2x8x4xf32, #state>)
  return %y, %state : tensor<1x16x2x8xf32, #heads>, tensor<1x2x8x4xf32, #state>
}

// -----

// Of a norm's groups a rank has its share.

#mesh = #cp.mesh<"cp" = 2, "tp" = 2>
#vector = #cp.layout<#mesh, [{"tp"}]>
#channels = #cp.layout<#mesh, [{}, {"cp"}, {"tp"}]>

// CHECK-LABEL: func.func @norm_groups(
// CHECK:         %[[N:.*]] = cp.rms_norm %{{.*}} {groups = 2 : i64} : (tensor<1x8x8xf32>, tensor<8xf32>) -> tensor<1x8x8xf32>
// CHECK-NEXT:    cp.rms_norm %[[N]] weight(%{{.*}}) {groups = 2 : i64} :
func.func @norm_groups(%x: tensor<1x16x16xf32, #channels>,
    %w: tensor<16xf32, #vector>) -> tensor<1x16x16xf32, #channels>
    attributes {cp.view = "global"} {
  %0 = cp.rms_norm %x weight(%w) {groups = 4}
      : (tensor<1x16x16xf32, #channels>, tensor<16xf32, #vector>)
      -> tensor<1x16x16xf32, #channels>
  %1 = cp.rms_norm %0 weight(%w) {groups = 4}
      : (tensor<1x16x16xf32, #channels>, tensor<16xf32, #vector>)
      -> tensor<1x16x16xf32, #channels>
  return %1 : tensor<1x16x16xf32, #channels>
}

// -----

// A sequence that two axes cut: the group of the halo is both, major first.

#mesh = #cp.mesh<"ring" = 2, "u" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"u", "ring"}, {}]>

// CHECK-LABEL: func.func @two_axes(
// CHECK:         cp.halo {{.*}} over ["u", "ring"] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x4x24xf32>)
func.func @two_axes(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x4xf32, #whole2>) -> tensor<1x16x24xf32, #rows>
    attributes {cp.view = "global"} {
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

// What is not in the global view is left alone.

// CHECK-LABEL: func.func @no_view(%{{.*}}: tensor<1x16x24xf32>) -> tensor<1x16x24xf32> {
func.func @no_view(%x: tensor<1x16x24xf32>) -> tensor<1x16x24xf32> {
  return %x : tensor<1x16x24xf32>
}

// -----

// Places are cut with the rows that they are of, and go to both halves of a scan
// and to its parts in zigzag order; halo and scan know nothing of them.

#mesh = #cp.mesh<"cp" = 4>
#whole1 = #cp.layout<#mesh, [{}]>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows2 = #cp.layout<#mesh, [{}, {"cp"}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
#lse = #cp.layout<#mesh, [{}, {}, {"cp"}]>

// CHECK-LABEL: func.func @places(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<1x4xi64>
// CHECK:         cp.halo %{{.*}} over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64} : (tensor<1x4x16xf32>) -> tensor<1x3x16xf32>
// CHECK-NEXT:    cp.conv1d {{.*}} initial(%{{.*}}) places(%[[P]])
// CHECK:         cp.ssd_states {{.*}} places(%[[P]])
// CHECK-NEXT:    cp.scan_state %{{[^,]*}}, %{{[^,]*}} over
// CHECK-NEXT:    cp.ssd_scan {{.*}} places(%[[P]])
// CHECK:         cp.rotary %{{.*}} positions(%[[P]])
// CHECK:         cp.ring_attention %{{.*}} places(%[[P]]) over ["cp"] of #mesh
func.func @places(%x: tensor<1x16x16xf32, #rows3>,
    %w: tensor<16x4xf32, #whole2>, %h: tensor<1x16x2x8xf32, #rows4>,
    %dt: tensor<1x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<1x16x1x4xf32, #rows4>, %k: tensor<1x16x2x8xf32, #rows4>,
    %p: tensor<1x16xi64, #rows2>)
    -> (tensor<1x16x16xf32, #rows3>, tensor<1x16x2x8xf32, #rows4>)
    attributes {cp.view = "global"} {
  %conv = cp.conv1d %x weight(%w) places(%p)
      : (tensor<1x16x16xf32, #rows3>, tensor<16x4xf32, #whole2>,
         tensor<1x16xi64, #rows2>) -> tensor<1x16x16xf32, #rows3>
  %y, %state = cp.ssd %h dt(%dt) A_log(%a) B(%b) C(%b) places(%p)
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<1x16x1x4xf32, #rows4>,
         tensor<1x16x1x4xf32, #rows4>, tensor<1x16xi64, #rows2>)
      -> (tensor<1x16x2x8xf32, #rows4>,
          tensor<1x2x8x4xf32, #cp.layout<#mesh, [{}, {}, {}, {}]>>)
  %q = cp.rotary %y positions(%p)
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16xi64, #rows2>)
      -> tensor<1x16x2x8xf32, #rows4>
  %o, %lse = cp.attention %q, %k, %k places(%p) {form = "ring"}
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2x8xf32, #rows4>,
         tensor<1x16x2x8xf32, #rows4>, tensor<1x16xi64, #rows2>)
      -> (tensor<1x16x2x8xf32, #rows4>, tensor<1x2x16xf32, #lse>)
  return %conv, %o
      : tensor<1x16x16xf32, #rows3>, tensor<1x16x2x8xf32, #rows4>
}

// -----

// Over an axis of one rank a sequence is not cut: nothing comes from elsewhere, in
// whatever order, and ops stay whole, as on one rank alone.

#mesh = #cp.mesh<"dp" = 2, "cp" = 1>
#whole1 = #cp.layout<#mesh, [{}]>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#lists = #cp.layout<#mesh, [{"dp"}, {}]>
#rows2 = #cp.layout<#mesh, [{"dp"}, {"cp" zigzag}]>
#rows3 = #cp.layout<#mesh, [{"dp"}, {"cp" zigzag}, {}]>
#rows4 = #cp.layout<#mesh, [{"dp"}, {"cp" zigzag}, {}, {}]>
#lse = #cp.layout<#mesh, [{"dp"}, {}, {"cp" zigzag}]>

// CHECK-LABEL: func.func @one_rank_has_the_sequence(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x16x16xf32> {cp.layout =
// CHECK-NEXT:    %[[P:.*]] = cp.positions documents(%{{.*}} : tensor<1x5xi32>) : tensor<1x16xi64>
// CHECK-NEXT:    cp.conv1d %[[X]] weight(%{{[a-z0-9]+}}) places(%[[P]]) : (tensor<1x16x16xf32>,
// CHECK-NEXT:    %[[Y:.*]], %{{.*}} = cp.ssd {{.*}} places(%[[P]])
// CHECK-NEXT:    cp.attention %[[Y]], {{.*}} places(%[[P]])
// CHECK-NEXT:    return
func.func @one_rank_has_the_sequence(%x: tensor<2x16x16xf32, #rows3>,
    %w: tensor<16x4xf32, #whole2>, %h: tensor<2x16x2x8xf32, #rows4>,
    %dt: tensor<2x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<2x16x1x4xf32, #rows4>, %k: tensor<2x16x2x8xf32, #rows4>,
    %d: tensor<2x5xi32, #lists>)
    -> (tensor<2x16x16xf32, #rows3>, tensor<2x16x2x8xf32, #rows4>)
    attributes {cp.view = "global"} {
  %p = cp.positions documents(%d : tensor<2x5xi32, #lists>)
      : tensor<2x16xi64, #rows2>
  %conv = cp.conv1d %x weight(%w) places(%p)
      : (tensor<2x16x16xf32, #rows3>, tensor<16x4xf32, #whole2>,
         tensor<2x16xi64, #rows2>) -> tensor<2x16x16xf32, #rows3>
  %y, %state = cp.ssd %h dt(%dt) A_log(%a) B(%b) C(%b) places(%p)
      : (tensor<2x16x2x8xf32, #rows4>, tensor<2x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<2x16x1x4xf32, #rows4>,
         tensor<2x16x1x4xf32, #rows4>, tensor<2x16xi64, #rows2>)
      -> (tensor<2x16x2x8xf32, #rows4>,
          tensor<2x2x8x4xf32, #cp.layout<#mesh, [{"dp"}, {}, {}, {}]>>)
  %o, %lse = cp.attention %y, %k, %k places(%p) {form = "ring"}
      : (tensor<2x16x2x8xf32, #rows4>, tensor<2x16x2x8xf32, #rows4>,
         tensor<2x16x2x8xf32, #rows4>, tensor<2x16xi64, #rows2>)
      -> (tensor<2x16x2x8xf32, #rows4>, tensor<2x2x16xf32, #lse>)
  return %conv, %o
      : tensor<2x16x16xf32, #rows3>, tensor<2x16x2x8xf32, #rows4>
}
