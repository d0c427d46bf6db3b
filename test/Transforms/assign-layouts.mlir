// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=sequence" --split-input-file | FileCheck %s --check-prefixes=CHECK,SEQ
// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=hidden scan=gather" --split-input-file | FileCheck %s --check-prefixes=CHECK,HID

// A window op keeps the sequence cut, or is cut along channels; then its
// parameters are cut with it, and what follows gets the sequence cut back.

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// HID-DAG:     #[[$CHANNELS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// HID-DAG:     #[[$FIRST:.*]] = #cp.layout<#mesh, [{"cp"}, {}]>
// HID-DAG:     #[[$VECTOR:.*]] = #cp.layout<#mesh, [{"cp"}]>
// CHECK-LABEL: func.func @window(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x16x24xf32, #[[$ROWS]]> {cp.sequence = 1 : i64}
// CHECK-SAME:    -> tensor<1x16x24xf32, #[[$ROWS]]> attributes {cp.view = "global"}
// SEQ-NOT:       cp.reshard
// SEQ:           %[[Y:.*]] = cp.conv1d %[[X]] {{.*}} -> tensor<1x16x24xf32, #[[$ROWS]]>
// HID-DAG:       %[[XC:.*]] = cp.reshard %[[X]] {{.*}} to tensor<1x16x24xf32, #[[$CHANNELS]]>
// HID-DAG:       %[[W:.*]] = cp.reshard %arg1 {{.*}} to tensor<24x4xf32, #[[$FIRST]]>
// HID-DAG:       %[[B:.*]] = cp.reshard %arg2 {{.*}} to tensor<24xf32, #[[$VECTOR]]>
// HID:           %[[C:.*]] = cp.conv1d %[[XC]] weight(%[[W]]) bias(%[[B]]) {{.*}} -> tensor<1x16x24xf32, #[[$CHANNELS]]>
// HID:           %[[Y:.*]] = cp.reshard %[[C]] {{.*}} to tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK:         arith.addf %[[X]], %[[Y]] : tensor<1x16x24xf32, #[[$ROWS]]>
func.func @window(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64},
                  %w: tensor<24x4xf32>, %b: tensor<24xf32>)
    -> tensor<1x16x24xf32> {
  %0 = cp.conv1d %x weight(%w) bias(%b)
      : (tensor<1x16x24xf32>, tensor<24x4xf32>, tensor<24xf32>)
      -> tensor<1x16x24xf32>
  %1 = arith.addf %x, %0 : tensor<1x16x24xf32>
  return %1 : tensor<1x16x24xf32>
}

// -----

// The option's scan algorithm is written on the op. Two groups and four ranks:
// each group is repeated once.

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>
// HID-DAG:     #[[$HEADS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}, {}]>
// CHECK-LABEL: func.func @scan(
// SEQ-NOT:       cp.repeat
// SEQ-NOT:       cp.reshard
// SEQ:           cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<chain>} {{.*}} -> (tensor<1x16x4x8xf32, #[[$ROWS]]>
// HID:           %[[B:.*]] = cp.repeat %arg3 {dim = 2 : i64, times = 2 : i64, unit = 1 : i64} : tensor<1x16x2x4xf32, #[[$ROWS]]> -> tensor<1x16x4x4xf32, #[[$ROWS]]>
// HID:           %[[BH:.*]] = cp.reshard %[[B]] {{.*}} to tensor<1x16x4x4xf32, #[[$HEADS]]>
// HID:           %[[C:.*]] = cp.repeat %arg4 {dim = 2 : i64, times = 2 : i64, unit = 1 : i64}
// HID:           %[[CH:.*]] = cp.reshard %[[C]] {{.*}} to tensor<1x16x4x4xf32, #[[$HEADS]]>
// HID:           %[[Y:.*]], %{{.*}} = cp.ssd {{.*}} B(%[[BH]]) C(%[[CH]]) {algorithm = #cp.scan_algorithm<gather>} {{.*}} -> (tensor<1x16x4x8xf32, #[[$HEADS]]>
func.func @scan(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>,
    %b: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64},
    %c: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x4x8xf32> {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %y : tensor<1x16x4x8xf32>
}

// -----

// The repeat of groups moves above the convolution and the contraction's reshape
// to the values that travel, so that an exchange can do it.

// CHECK-LABEL: func.func @groups_before_conv(
// SEQ-NOT:       cp.repeat
// HID:           cp.repeat %arg3 {dim = 2 : i64, times = 2 : i64, unit = 4 : i64} : tensor<1x16x8xf32{{.*}} -> tensor<1x16x16xf32
// HID:           cp.repeat %arg5 {dim = 0 : i64, times = 2 : i64, unit = 4 : i64} : tensor<8x4xf32{{.*}} -> tensor<16x4xf32
// HID:           cp.conv1d
// HID:           tensor.expand_shape {{.*}} into tensor<1x16x4x4xf32
// HID:           cp.ssd
func.func @groups_before_conv(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>,
    %b: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %c: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64}, %w: tensor<8x4xf32>)
    -> tensor<1x16x4x8xf32> {
  %0 = cp.conv1d %b weight(%w)
      : (tensor<1x16x8xf32>, tensor<8x4xf32>) -> tensor<1x16x8xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 16, 2, 4]
      : tensor<1x16x8xf32> into tensor<1x16x2x4xf32>
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%1) C(%c)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %y : tensor<1x16x4x8xf32>
}

// -----

// So does that of one group, whose dimension of one element is no part of the
// merged one.

// CHECK-LABEL: func.func @one_group(
// HID:           cp.repeat %arg3 {dim = 2 : i64, times = 4 : i64, unit = 4 : i64} : tensor<1x16x4xf32{{.*}} -> tensor<1x16x16xf32
// HID-NOT:       cp.repeat {{.*}} tensor<1x16x1x4xf32
// HID:           tensor.expand_shape {{.*}} into tensor<1x16x4x4xf32
// HID:           cp.ssd
func.func @one_group(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>,
    %b: tensor<1x16x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x16x4x8xf32> {
  %0 = tensor.expand_shape %b [[0], [1], [2, 3]] output_shape [1, 16, 1, 4]
      : tensor<1x16x4xf32> into tensor<1x16x1x4xf32>
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%0) C(%0)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %y : tensor<1x16x4x8xf32>
}

// -----

// An op's own strategy and algorithm are stronger than the options.

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG:   #[[$CHANNELS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-LABEL: func.func @strategies(
// CHECK:         cp.conv1d {{.*}} {strategy = "hidden"} {{.*}} -> tensor<1x16x24xf32, #[[$CHANNELS]]>
// CHECK:         cp.conv1d {{.*}} {strategy = "sequence"} {{.*}} -> tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK:         cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<gather>, strategy = "sequence"}
// CHECK:         cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<chain>, strategy = "sequence"}
func.func @strategies(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64},
    %w: tensor<24x4xf32>, %xh: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>,
    %b: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x16x24xf32>, tensor<1x16x4x8xf32>) {
  %0 = cp.conv1d %x weight(%w) {strategy = "hidden"}
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
  %1 = cp.conv1d %0 weight(%w) {strategy = "sequence"}
      : (tensor<1x16x24xf32>, tensor<24x4xf32>) -> tensor<1x16x24xf32>
  %y, %s = cp.ssd %xh dt(%dt) A_log(%a) B(%b) C(%b)
      {strategy = "sequence", algorithm = #cp.scan_algorithm<gather>}
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  %y2, %s2 = cp.ssd %y dt(%dt) A_log(%a) B(%b) C(%b)
      {strategy = "sequence", algorithm = #cp.scan_algorithm<chain>}
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %1, %y2 : tensor<1x16x24xf32>, tensor<1x16x4x8xf32>
}

// -----

// A reshard that the user wrote on a tensor without layout pins one: the ops
// after it follow, and an op that meets both gets the sequence cut back.

#mesh = #cp.mesh<"cp" = 4>
#channels = #cp.layout<#mesh, [{}, {}, {"cp"}]>

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG:   #[[$CHANNELS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-LABEL: func.func @pinned(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK:         %[[P:.*]] = cp.reshard %[[X]] : tensor<1x16x24xf32, #[[$ROWS]]> to tensor<1x16x24xf32, #[[$CHANNELS]]>
// CHECK:         %[[E:.*]] = math.exp %[[P]] : tensor<1x16x24xf32, #[[$CHANNELS]]>
// CHECK:         %[[R:.*]] = cp.reshard %[[E]] {{.*}} to tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK:         linalg.add ins(%[[X]], %[[R]] {{.*}} -> tensor<1x16x24xf32, #[[$ROWS]]>
func.func @pinned(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x24xf32> {
  %0 = cp.reshard %x
      : tensor<1x16x24xf32> to tensor<1x16x24xf32, #channels>
  %1 = math.exp %0 : tensor<1x16x24xf32, #channels>
  %2 = tensor.empty() : tensor<1x16x24xf32>
  %3 = linalg.add
      ins(%x, %1 : tensor<1x16x24xf32>, tensor<1x16x24xf32, #channels>)
      outs(%2 : tensor<1x16x24xf32>) -> tensor<1x16x24xf32>
  return %3 : tensor<1x16x24xf32>
}

// -----

// A constant takes the layout of its use; one that two uses want in two ways is
// made twice.

// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG:   #[[$BATCH:.*]] = #cp.layout<#mesh, [{}, {}, {}]>
// CHECK-LABEL: func.func @constants(
// CHECK-DAG:     %[[A:.*]] = arith.constant dense<1.000000e+00> : tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK-DAG:     %[[B:.*]] = arith.constant dense<1.000000e+00> : tensor<1x16x24xf32, #[[$BATCH]]>
// CHECK-DAG:     arith.addf %{{.*}}, %[[A]] : tensor<1x16x24xf32, #[[$ROWS]]>
// CHECK-DAG:     arith.mulf %{{.*}}, %[[B]] : tensor<1x16x24xf32, #[[$BATCH]]>
func.func @constants(%x: tensor<1x16x24xf32> {cp.sequence = 1 : i64},
                     %p: tensor<1x16x24xf32>)
    -> (tensor<1x16x24xf32>, tensor<1x16x24xf32>) {
  %one = arith.constant dense<1.0> : tensor<1x16x24xf32>
  %0 = arith.addf %x, %one : tensor<1x16x24xf32>
  %1 = arith.mulf %p, %one : tensor<1x16x24xf32>
  return %0, %1 : tensor<1x16x24xf32>, tensor<1x16x24xf32>
}

// -----

// Token ids are cut, the table is not.

// CHECK-DAG:   #[[$IDS:.*]] = #cp.layout<#mesh, [{}, {"cp"}]>
// CHECK-DAG:   #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-LABEL: func.func @tokens(
// CHECK:         cp.embedding {{.*}} : (tensor<1x16xi32, #[[$IDS]]>, tensor<96x8xf32, #{{.*}}>) -> tensor<1x16x8xf32, #[[$ROWS]]>
func.func @tokens(%ids: tensor<1x16xi32> {cp.sequence = 1 : i64},
                  %table: tensor<96x8xf32>) -> tensor<1x16x8xf32> {
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi32>, tensor<96x8xf32>) -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// A layout that an argument has already is kept.

#mesh = #cp.mesh<"cp" = 4>
#given = #cp.layout<#mesh, [{}, {}, {"cp"}]>

// CHECK:       #[[$GIVEN:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-LABEL: func.func @given(
// CHECK:         math.exp %{{.*}} : tensor<1x16x24xf32, #[[$GIVEN]]>
func.func @given(%x: tensor<1x16x24xf32, #given>,
                 %y: tensor<1x16xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x24xf32, #given> {
  %0 = math.exp %x : tensor<1x16x24xf32, #given>
  return %0 : tensor<1x16x24xf32, #given>
}

// -----

// What is in a view already, or has no body, is left alone.

// CHECK-LABEL: func.func @sharded(%{{.*}}: tensor<1x4x24xf32>) -> tensor<1x4x24xf32> attributes {cp.view = "local"}
func.func @sharded(%x: tensor<1x4x24xf32>) -> tensor<1x4x24xf32>
    attributes {cp.view = "local"} {
  return %x : tensor<1x4x24xf32>
}

// CHECK: func.func private @external(tensor<1x16x24xf32>)
func.func private @external(tensor<1x16x24xf32>)

// -----

// Stripes of heads are stripes of as many times more channels.

// CHECK: #[[$MERGED:.*]] = #cp.layout<#{{.*}}, [{"cp" striped : 2}]>
// CHECK-LABEL: func.func @stripes_of_heads(
// CHECK:         tensor.collapse_shape {{.*}} into tensor<16xf32, #[[$MERGED]]>
#mesh = #cp.mesh<"cp" = 4>
#heads = #cp.layout<#mesh, [{"cp" striped}, {}]>
func.func @stripes_of_heads(%x: tensor<8x2xf32, #heads>) -> tensor<16xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]]
      : tensor<8x2xf32, #heads> into tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// What is not cut need not have a known size.

// CHECK-LABEL: func.func @unknown_batch(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x16x8xf32, #{{.*}}>
// CHECK:         %[[E:.*]] = math.exp %[[X]] : tensor<?x16x8xf32, #{{.*}}>
// CHECK:         return
func.func @unknown_batch(%x: tensor<?x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<?x16x8xf32> {
  %0 = math.exp %x : tensor<?x16x8xf32>
  return %0 : tensor<?x16x8xf32>
}

// -----

// What has no layout of its own may be returned more than once.

// CHECK-LABEL: func.func @constants(
// CHECK-SAME:    -> (tensor<2x8xf64, #{{.*}}>, tensor<4xf64, #[[$WHOLE:.*]]>, tensor<4xf64, #[[$WHOLE]]>)
// CHECK:         %[[C:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf64, #[[$WHOLE]]>
// CHECK:         return %{{.*}}, %[[C]], %[[C]]
func.func @constants(%x: tensor<2x8xf64> {cp.sequence = 1 : i64})
    -> (tensor<2x8xf64>, tensor<4xf64>, tensor<4xf64>) {
  %c = arith.constant dense<0.0> : tensor<4xf64>
  return %x, %c, %c : tensor<2x8xf64>, tensor<4xf64>, tensor<4xf64>
}

// -----

// And as what it is of.

// CHECK-LABEL: func.func @zeros(
// CHECK-SAME:    %{{.*}}: tensor<16x8xf64, #[[$ROWS:[a-z0-9]+]]> {cp.name = "x"
// CHECK-SAME:    tensor<16x8xf64, #[[$ROWS]]> {cp.gradient = "x"}, tensor<16x8xf64, #[[$ROWS]]> {cp.updates = "x"}
func.func @zeros(%x: tensor<16x8xf64> {cp.name = "x", cp.sequence = 0 : i64})
    -> (tensor<16x8xf64> {cp.gradient = "x"}, tensor<16x8xf64> {cp.updates = "x"}) {
  %zero = arith.constant dense<0.0> : tensor<16x8xf64>
  %two = arith.constant dense<2.0> : tensor<16x8xf64>
  return %zero, %two : tensor<16x8xf64>, tensor<16x8xf64>
}

// -----

// A result that is no sequence lies as its cotangent does.

// CHECK-LABEL: func.func @cotangent(
// CHECK-SAME:    tensor<8x16xf64, #[[$WHOLE:[a-z0-9]+]]> {cp.cotangent = "y"})
// CHECK-SAME:    -> (tensor<8x16xf64, #[[$WHOLE]]> {cp.name = "y"}
func.func @cotangent(%x: tensor<16x8xf64> {cp.name = "x", cp.sequence = 0 : i64},
    %dy: tensor<8x16xf64> {cp.cotangent = "y"})
    -> (tensor<8x16xf64> {cp.name = "y"}, tensor<16x8xf64> {cp.gradient = "x"}) {
  %e = tensor.empty() : tensor<8x16xf64>
  %y = linalg.transpose ins(%x : tensor<16x8xf64>) outs(%e : tensor<8x16xf64>) permutation = [1, 0]
  %f = tensor.empty() : tensor<16x8xf64>
  %dx = linalg.transpose ins(%dy : tensor<8x16xf64>) outs(%f : tensor<16x8xf64>) permutation = [1, 0]
  return %y, %dx : tensor<8x16xf64>, tensor<16x8xf64>
}
