// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4 mixer=hidden scan=gather" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,HID
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4 mixer=hidden scan=gather" \
// RUN:   --cp-prepare-cuts="mesh=cp=4 mixer=hidden scan=gather" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,HID
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4" | FileCheck %s --check-prefixes=CHECK,SEQ
// RUN: not %cp-opt %s --cp-prepare-cuts="mesh=cp=8 mixer=hidden" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=HEADS
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=3 mixer=hidden" | FileCheck %s --check-prefix=THREE
// RUN: not %cp-opt %s --cp-prepare-cuts="mesh=cp=4 mixer=heads" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WORD

// Two groups, four ranks: each group is repeated, above the exp that makes it;
// once, however often the pass runs. What the op leaves to the options is
// written down.

// Three ranks have two heads each and keep the groups; behind both are zeros, of
// which nothing is read. They do not divide 16 tokens, which get two more.

// HEADS: error: 'cp.ssd' op hidden_c1: 8 ranks cannot share 4 heads; use fewer ranks there, or mixer=sequence, which cuts heads over tp alone

// THREE-LABEL: func.func @scan(
// THREE-SAME:    %[[X:[a-z0-9]+]]: tensor<1x18x4x8xf32>
// THREE-NOT:     cp.repeat
// THREE:         %[[P:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 0, 0, 0] [1, 18, 4, 8] [1, 1, 1, 1] : tensor<1x18x4x8xf32> into tensor<1x18x6x8xf32>
// THREE:         %[[Y:.*]], %{{.*}} = cp.ssd %[[P]] {{.*}} : (tensor<1x18x6x8xf32>, tensor<1x18x6xf32>, tensor<6xf32>, tensor<1x18x3x4xf32>, tensor<1x18x3x4xf32>)
// THREE:         %[[OUT:.*]] = tensor.extract_slice %[[Y]][0, 0, 0, 0] [1, 18, 4, 8] [1, 1, 1, 1]
// THREE:         return %[[OUT]]
// WORD: error: mixer must be hidden, sequence or 2d, but is 'heads'

// CHECK-LABEL: func.func @scan(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x16x4x8xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<1x16x2x4xf32>
// SEQ-NOT:       cp.repeat
// SEQ:           cp.ssd {{.*}} {algorithm = #cp.scan_algorithm<chain>}
// HID-NEXT:      %[[R:.*]] = cp.repeat %[[B]] {dim = 2 : i64, times = 2 : i64, unit = 1 : i64} : tensor<1x16x2x4xf32> -> tensor<1x16x4x4xf32>
// HID-NEXT:      %[[E:.*]] = math.exp %[[R]] : tensor<1x16x4x4xf32>
// HID-NOT:       cp.repeat %[[R]]
// HID:           cp.ssd %[[X]] {{.*}} {algorithm = #cp.scan_algorithm<gather>}
func.func @scan(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %b: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>)
    -> tensor<1x16x4x8xf32> {
  %0 = math.exp %b : tensor<1x16x2x4xf32>
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%0) C(%b)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %y : tensor<1x16x4x8xf32>
}

// A function with layouts stays as it is.

// CHECK-LABEL: func.func @sharded(
// CHECK-NOT:     form
func.func @sharded(%q: tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>)
    -> tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>
    attributes {cp.view = "global"} {
  %out, %lse = cp.attention %q, %q, %q
      : (tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>,
         tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>,
         tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>)
      -> (tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>,
          tensor<1x4x8xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}]>>)
  return %out : tensor<1x8x4x2xf32, #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}, {}]>>
}

// Slices say their sizes themselves: those of a rotation of halves, over repeated
// groups.

// CHECK-LABEL: func.func @halves(
// HID:           %[[R:.*]] = cp.repeat %{{.*}} : tensor<1x16x2x4xf32> -> tensor<1x16x4x4xf32>
// HID:           %[[H:.*]] = tensor.extract_slice %[[R]][0, 0, 0, 2] [1, 16, 4, 2] [1, 1, 1, 1] : tensor<1x16x4x4xf32> to tensor<1x16x4x2xf32>
// HID:           tensor.insert_slice %[[H]] into %{{.*}}[0, 0, 0, 0] [1, 16, 4, 2] [1, 1, 1, 1] : tensor<1x16x4x2xf32> into tensor<1x16x4x4xf32>
func.func @halves(%x: tensor<1x16x4x8xf32> {cp.sequence = 1 : i64},
    %b: tensor<1x16x2x4xf32> {cp.sequence = 1 : i64},
    %dt: tensor<1x16x4xf32> {cp.sequence = 1 : i64}, %a: tensor<4xf32>)
    -> tensor<1x16x4x8xf32> {
  %half = tensor.extract_slice %b[0, 0, 0, 2] [1, 16, 2, 2] [1, 1, 1, 1]
      : tensor<1x16x2x4xf32> to tensor<1x16x2x2xf32>
  %0 = tensor.insert_slice %half into %b[0, 0, 0, 0] [1, 16, 2, 2] [1, 1, 1, 1]
      : tensor<1x16x2x2xf32> into tensor<1x16x2x4xf32>
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%0) C(%b)
      : (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>, tensor<4xf32>,
         tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x16x4x8xf32>, tensor<1x4x8x4xf32>)
  return %y : tensor<1x16x4x8xf32>
}
